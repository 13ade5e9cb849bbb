import type { CommandItem } from '@tidegate/protocol/commands-api';
import { STATUS_LOOKS } from './command-words.tsx';

export interface Step {
  readonly label: string;
  /** `unknown`: it happened, or was left out, and nobody told when. */
  readonly state: 'done' | 'next' | 'later' | 'unknown' | 'stopped';
  readonly at: string | null;
}

type Timed = Pick<
  CommandItem,
  'action' | 'status' | 'created_at' | 'not_before' | 'sent_at' | 'received_at' | 'started_at' | 'finished_at'
>;

/** Where a command is. A command is signed when it is first sent, and a host may leave out `received` and `running`. */
export function stepsOf(command: Timed): readonly Step[] {
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
  return steps.map(({ label, at }, index) => {
    if (index === steps.length - 1 && isOver)
      return { label, at, state: status === 'success' ? 'done' : 'stopped' };
    if (at !== null) return { label, at, state: 'done' };
    // The server itself notes when it sends: without that time the host has never had it.
    if (isOver && command.sent_at === null) return { label, at, state: 'later' };
    if (index > reached) return { label, at, state: index === reached + 1 ? 'next' : 'later' };
    return { label, at, state: 'unknown' };
  });
}

/** The states of an open command, one for each step but the last. */
const OPEN: readonly CommandItem['status'][] = ['pending', 'sent', 'received', 'running'];

/** What an open command waits for, as far as its own times say; null where it waits for nothing or is over. */
export function waitOf({ status, not_before: notBefore }: Timed, nowMs: number): string | null {
  if (status === 'pending')
    return Date.parse(notBefore) > nowMs ? 'its time' : 'the next check-in of the host';
  return status === 'sent'
    ? 'the host to say that it has it'
    : status === 'received'
      ? 'the host to start'
      : null;
}
