import { counted } from '@tidegate/protocol/count-words';
import type { StoppedBy } from '@tidegate/protocol/policies-api';
import type { GateCondition, OutcomeCounts, RolloutState } from '@tidegate/protocol/rollouts-api';
import { hosts, unsettledOf } from './gate-rules.ts';

export interface WaitingFacts {
  readonly state: RolloutState;
  /** Of the current ring. */
  readonly ring: string;
  /** Null: it is the last. */
  readonly next: string | null;
  readonly outcomes: OutcomeCounts;
  readonly conditions: readonly GateCondition[];
  readonly halt: { readonly by: string; readonly reason: string } | null;
  readonly endReason: string | null;
  /** When its ring waits no longer for hosts that offer its versions (RFC 3339). */
  readonly offersEndAt: string;
  /** When a window of its policy opens next, `at` null: never. Null: one is open, or the policy has none. */
  readonly opens: { readonly at: string | null } | null;
  /** What the gate stops of its policy since the ring was entered, by reason, the most frequent first. */
  readonly stops: StoppedBy;
}

/** Reasons that the sentence names. */
const REASONS_NAMED = 3;

/** One sentence: what a rollout waits for, or how it ended; a second says what the gate keeps from its hosts. */
export function waitsFor(facts: WaitingFacts): string {
  const { state, outcomes, stops } = facts;
  const sentences = [inOneSentence(facts)];
  const left = outcomes.waiting + outcomes.offline;
  if (state === 'running' && left > 0 && stops.length > 0) sentences.push(stopsText(stops));
  return sentences.join(' ');
}

/** `The gate stops 3 updates of its policy: 2 too young, 1 known vulnerability.` */
function stopsText(stops: StoppedBy): string {
  const total = stops.reduce((sum, { count }) => sum + count, 0);
  const named = stops.slice(0, REASONS_NAMED);
  const others = named.reduce((left, { count }) => left - count, total);
  const parts = named.map(({ reason, count }) => `${count} ${reason.replaceAll('_', ' ')}`);
  if (others > 0) parts.push(`${others} for other reasons`);
  return `The gate stops ${counted(total, 'update')} of its policy: ${parts.join(', ')}.`;
}

function inOneSentence(facts: WaitingFacts): string {
  const { state, ring, next, outcomes, halt, endReason } = facts;
  switch (state) {
    case 'halted':
      return `Halted by ${halt?.by ?? 'server'}: ${sentence(halt?.reason ?? '')} It goes on when somebody resumes it.`;
    case 'cancelled':
      return endReason ?? 'Cancelled.';
    case 'finished':
      return endReason ?? 'Finished.';
    case 'running':
      break;
  }
  const { offline, waiting, running } = outcomes;
  const isIdle = waiting + running === 0;
  if (waiting > 0 && running === 0 && facts.opens !== null) {
    const { at } = facts.opens;
    if (at === null) return 'Its policy has no window any more: give it one, or cancel the rollout.';
    return `Waits for the window of its policy, which opens at ${at}.`;
  }
  if (next === null) {
    const left = unsettledOf(outcomes);
    if (left === 0) return 'Every host has its outcome.';
    if (isIdle)
      return `Waits for ${hosts(offline)} of ring "${ring}" that ${offline === 1 ? 'is' : 'are'} offline.`;
    return `Waits for ${hosts(left)} of ring "${ring}": ${running} running, ${waiting} waiting, ${offline} offline.`;
  }
  const unmet = facts.conditions.find(({ met }) => !met);
  if (!unmet) return `Enters ring "${next}" next.`;
  const isOfHosts = unmet.kind !== 'divergences' && unmet.kind !== 'approval';
  const offering = Object.values(outcomes).reduce((sum, count) => sum + count, -outcomes.not_offered);
  if (isOfHosts && offering === 0) {
    return `Waits for hosts of ring "${ring}" to offer these versions, until ${facts.offersEndAt}.`;
  }
  if (isOfHosts && isIdle && outcomes.installed === 0 && offline > 0) {
    return `Waits for ring "${ring}": ${offline === 1 ? 'its only host is' : `all its ${offline} hosts are`} offline.`;
  }
  return `Waits in ring "${ring}": ${unmet.text}; ${numberOf(unmet)}.`;
}

/** What people write as a reason may lack its full stop. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function numberOf({ kind, has, wants }: GateCondition): string {
  switch (kind) {
    case 'success_rate':
      return `now ${has} %`;
    case 'divergences':
      return `${has} ${has === 1 ? 'is' : 'are'}`;
    case 'approval':
      return 'nobody has';
    case 'success_count':
    case 'soak':
    case 'probes':
      return `${has} of ${wants}`;
  }
}
