import type { BacktestUpdate, PolicyBacktest } from '@tidegate/protocol/backtest-api';
import { counted } from '@tidegate/protocol/count-words';
import { reasonText } from './policy-rules.ts';

type Fates = PolicyBacktest['approves'];

/** `Of 5 updates it would have approved 3: 2 were approved, 1 was taken back. It would have left 2: …`. */
export function backtestText({ approves, leaves }: PolicyBacktest): string {
  const [would, left] = [sumOf(approves), sumOf(leaves)];
  if (would + left === 0) return 'No decision about an update of these hosts was recorded.';
  const parts = [
    `Of ${counted(would + left, 'update')} it would have approved ${number(would)}${fatesText(approves)}.`,
    `It would have left ${number(left)} to people${fatesText(leaves)}.`,
  ];
  return parts.join(' ');
}

/** What limits the answer, as sentences; empty if nothing does. */
export function limitsText({ cut, unreadable, decisions }: PolicyBacktest): string {
  return [
    ...(cut ? [`Only the newest ${counted(decisions, 'decision')} are judged.`] : []),
    ...(unreadable > 0
      ? [`${counted(unreadable, 'record')} changed in the database: nothing is concluded from them.`]
      : []),
  ].join(' ');
}

/** `approved it`, or the reason why not. */
export function wouldText({ reason }: Pick<BacktestUpdate, 'reason'>): string {
  return reason === null ? 'approved it' : reasonText(reason);
}

export const FATES: Readonly<Record<BacktestUpdate['fate'], string>> = {
  approved: 'approved',
  taken_back: 'approved, then taken back',
  not_approved: 'not approved',
};

function fatesText({ approved, taken_back: back, not_approved: none }: Fates): string {
  const parts = [
    ...(approved > 0 ? [`${number(approved)} ${wasOf(approved)} approved`] : []),
    ...(back > 0 ? [`${number(back)} ${wasOf(back)} approved and taken back`] : []),
    ...(none > 0 ? [`${number(none)} ${wasOf(none)} not approved`] : []),
  ];
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`;
}

const sumOf = (fates: Fates) => fates.approved + fates.taken_back + fates.not_approved;
const number = (count: number) => count.toLocaleString('en');
const wasOf = (count: number) => (count === 1 ? 'was' : 'were');
