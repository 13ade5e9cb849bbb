import type { CommandResult } from '@tidegate/protocol/agent-api';
import type { CommandStatus } from '@tidegate/protocol/states';

/**
 * Allowed transitions from each status (docs/protocol/states.md); an agent may skip states that it has no
 * time to report.
 */
export const COMMAND_TRANSITIONS: Readonly<Record<CommandStatus, readonly CommandStatus[]>> = {
  pending: ['sent', 'expired', 'cancelled'],
  sent: ['received', 'running', 'success', 'failed', 'refused', 'interrupted', 'expired', 'cancelled'],
  received: ['running', 'success', 'failed', 'refused', 'interrupted'],
  running: ['success', 'failed', 'refused', 'interrupted'],
  success: [],
  failed: [],
  refused: [],
  interrupted: [],
  expired: [],
  cancelled: [],
};

export function commandMayMove(move: { from: CommandStatus; to: CommandStatus }): boolean {
  return COMMAND_TRANSITIONS[move.from].includes(move.to);
}

export function isFinished(status: CommandStatus): boolean {
  return COMMAND_TRANSITIONS[status].length === 0;
}

export type ResultVerdict =
  | { kind: 'move' }
  | { kind: 'repeated' }
  | { kind: 'finished' }
  | { kind: 'unsent' };

/**
 * How a result applies to a command: `repeated` is another "running", `finished` arrives after the end (also
 * an identical one), `unsent` is for a command that the agent was never given.
 */
export function judgeResult(status: CommandStatus, reported: CommandResult['status']): ResultVerdict {
  if (isFinished(status)) return { kind: 'finished' };
  if (status === 'pending') return { kind: 'unsent' };
  if (status === reported) return { kind: 'repeated' };
  return commandMayMove({ from: status, to: reported }) ? { kind: 'move' } : { kind: 'finished' };
}

/** Whether an operator may retry a command, as a new one. */
export function mayRetry(status: CommandStatus): boolean {
  return isFinished(status) && status !== 'success';
}
