import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { Wait } from '@tidegate/protocol/progress-api';
import { STATUS_LOOKS } from './command-words.tsx';

export interface Step {
  readonly label: string;
  /** `unknown`: it happened, or was left out, and nobody told when. */
  readonly state: 'done' | 'next' | 'later' | 'unknown' | 'stopped';
  readonly at: string | null;
}

type Timed = Pick<
  CommandItem,
  'action' | 'status' | 'created_at' | 'sent_at' | 'received_at' | 'started_at' | 'finished_at' | 'restarts'
>;

/** The steps of an installation that nobody has approved yet. */
export const STEPS_AHEAD: readonly Step[] = [
  { label: 'Approved', state: 'next', at: null },
  ...['Signed and sent', 'Received', 'Started', 'Installed'].map(
    (label) => ({ label, state: 'later', at: null }) as const,
  ),
];

/** Where a command is. A command is signed when it is first sent, and a host may leave out `received` and `running`. */
export function stepsOf(command: Timed, waits: readonly Pick<Wait, 'kind'>[]): readonly Step[] {
  const { action, status } = command;
  const isOver = STATUS_LOOKS[status].isOver;
  const last = action === 'install_update' && status === 'success' ? 'Installed' : 'Finished';
  const steps = [
    { label: action === 'install_update' ? 'Approved' : 'Requested', at: command.created_at },
    { label: 'Signed and sent', at: command.sent_at },
    { label: 'Received', at: command.received_at },
    { label: 'Started', at: command.started_at },
    { label: isOver && status !== 'success' ? `Ended: ${status}` : last, at: command.finished_at },
  ];
  const reached = isOver ? steps.length - 1 : OPEN.indexOf(status);
  const taken = steps.map(({ label, at }, index): Step => {
    if (index === steps.length - 1 && isOver)
      return { label, at, state: status === 'success' ? 'done' : 'stopped' };
    if (at !== null) return { label, at, state: 'done' };
    // The server itself notes when it sends: without that time the host has never had it.
    if (isOver && command.sent_at === null) return { label, at, state: 'later' };
    if (index > reached) return { label, at, state: index === reached + 1 ? 'next' : 'later' };
    return { label, at, state: 'unknown' };
  });
  return [...taken, ...restartOf(command, waits)];
}

/** Only where the installation left old code running; the host does not say when that ended. */
function restartOf({ status, restarts }: Timed, waits: readonly Pick<Wait, 'kind'>[]): Step[] {
  const isNeeded = restarts?.reboot.need === 'needed' || restarts?.services.need === 'needed';
  if (status !== 'success' || !isNeeded) return [];
  return [
    {
      label: 'Restarted',
      at: null,
      state: waits.some(({ kind }) => kind === 'restart') ? 'next' : 'unknown',
    },
  ];
}

/** The states of an open command, one for each step but the last. */
const OPEN: readonly CommandItem['status'][] = ['pending', 'sent', 'received', 'running'];
