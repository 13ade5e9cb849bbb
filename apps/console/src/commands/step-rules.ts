import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { Wait } from '@tidegate/protocol/progress-api';
import { longBetween } from '../ui/relative-time-rules.ts';
import { STATUS_LOOKS } from './command-words.tsx';

export interface Step {
  readonly label: string;
  /** `unknown`: it happened, or was left out, and nobody told when. */
  readonly state: 'done' | 'now' | 'next' | 'later' | 'unknown' | 'stopped';
  /** When it was reached: work that takes a while began then. */
  readonly at: string | null;
  /** How long the work took; null: not long, not known or not over. */
  readonly took: string | null;
}

type Timed = Pick<
  CommandItem,
  | ('action' | 'status' | 'created_at' | 'sent_at' | 'received_at' | 'started_at' | 'installing_at')
  | ('finished_at' | 'exit_code' | 'restarts')
>;

/** The steps of an installation that nobody has approved yet. */
export const STEPS_AHEAD: readonly Step[] = [
  { label: 'Approved', state: 'next', at: null, took: null },
  ...['Signed and sent', 'Received', 'Downloading', 'Installing', 'Installed'].map(
    (label) => ({ label, state: 'later', at: null, took: null }) as const,
  ),
];

/** Where a command is. A command is signed when it is first sent, and a host may leave out `received` and `running`. */
export function stepsOf(command: Timed, waits: readonly Pick<Wait, 'kind'>[]): readonly Step[] {
  const { action, status } = command;
  const isOver = STATUS_LOOKS[status].isOver;
  const last = action === 'install_update' ? 'Installed' : 'Finished';
  const steps = [
    { label: action === 'install_update' ? 'Approved' : 'Requested', at: command.created_at },
    { label: 'Signed and sent', at: command.sent_at },
    { label: RECEIVED, at: command.received_at },
    ...workOf(command, waits),
    { label: isOver && status !== 'success' ? `Ended: ${status}` : last, at: command.finished_at },
  ];
  const end = steps.length - 1;
  const reached = isOver ? end : command.installing_at === null ? OPEN.indexOf(status) : end - 1;
  const taken = steps.map(({ label, at }, index): Step => {
    const isWork = index >= OPEN.length - 1 && index < end;
    const over = steps.slice(index + 1).find((later) => later.at !== null)?.at ?? null;
    return { label, at, state: stateOf(index), took: isWork ? longBetween(at, over) : null };
  });
  return [...taken, ...restartOf(command, waits)];

  function stateOf(index: number): Step['state'] {
    const { at = null, label } = steps[index] ?? {};
    if (index === end && isOver) return status === 'success' ? 'done' : 'stopped';
    if (index === reached && status === 'running') return 'now';
    if (at !== null) return 'done';
    // The server itself notes when it sends: without that time the host has never had it.
    if (isOver && command.sent_at === null) return 'later';
    // Where a host could have installed without saying so, there is no such step.
    if (isOver && label === INSTALLING) return 'later';
    // Hosts that begin at once never say that they have it.
    if (label === RECEIVED && (command.started_at ?? command.installing_at) !== null) return 'done';
    if (index <= reached) return 'unknown';
    return index === reached + 1 && status !== 'running' ? 'next' : 'later';
  }
}

const RECEIVED = 'Received';
const INSTALLING = 'Installing';

/** What the host does between the receipt and the end. */
function workOf(
  command: Timed,
  waits: readonly Pick<Wait, 'kind'>[],
): { label: string; at: string | null }[] {
  const { action, started_at: at, installing_at: installingAt } = command;
  if (action !== 'install_update') return [{ label: 'Started', at }];
  if (isOneStep(command, waits)) return [{ label: 'Downloading and installing', at }];
  return [
    { label: 'Downloading', at },
    { label: INSTALLING, at: installingAt },
  ];
}

/** Whether only the host knows which of both it is at, or when the one became the other. */
function isOneStep(
  { status, exit_code: exitCode, installing_at: installingAt }: Timed,
  waits: readonly Pick<Wait, 'kind'>[],
): boolean {
  if (installingAt !== null) return false;
  if (status === 'success' || status === 'interrupted' || exitCode !== null) return true;
  return waits.some(({ kind }) => kind === 'end');
}

/** Only where the installation left old code running; the host does not say when that ended. */
function restartOf({ status, restarts }: Timed, waits: readonly Pick<Wait, 'kind'>[]): Step[] {
  const isNeeded = restarts?.reboot.need === 'needed' || restarts?.services.need === 'needed';
  if (status !== 'success' || !isNeeded) return [];
  const isWaited = waits.some(({ kind }) => kind === 'restart');
  return [{ label: 'Restarted', at: null, state: isWaited ? 'next' : 'unknown', took: null }];
}

/** The states of an open command, each with the step that it has reached. */
const OPEN: readonly CommandItem['status'][] = ['pending', 'sent', 'received', 'running'];
