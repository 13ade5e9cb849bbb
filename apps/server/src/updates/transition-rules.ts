import type { UpdateState } from '@tidegate/protocol/states';

/** Where an update may go from each state (docs/protocol/states.md). */
export const UPDATE_TRANSITIONS: Readonly<Record<UpdateState, readonly UpdateState[]>> = {
  pending: ['awaiting_plan', 'approved', 'rejected', 'superseded', 'installed'],
  awaiting_plan: ['approved', 'pending', 'rejected', 'superseded'],
  approved: ['installing', 'pending', 'superseded', 'failed'],
  installing: ['installed', 'failed'],
  installed: [],
  failed: ['pending'],
  rejected: ['pending'],
  superseded: [],
};

export function updateMayMove(move: { from: UpdateState; to: UpdateState }): boolean {
  return UPDATE_TRANSITIONS[move.from].includes(move.to);
}

/** States that a scan may still close; in the others a human or an agent has the word. */
export const SCAN_CLOSES: readonly UpdateState[] = ['pending', 'awaiting_plan', 'approved'];

/** States in which an update is over. */
export const CLOSED_STATES: readonly UpdateState[] = ['installed', 'superseded'];

/**
 * The steps from a state to `installed` for an update that a complete scan saw installed; each step is in the table.
 * Empty where a scan has no say.
 */
export function stepsToSeenInstalled(from: UpdateState): readonly UpdateState[] {
  switch (from) {
    case 'pending':
      return ['installed'];
    case 'awaiting_plan':
    case 'approved':
      return ['pending', 'installed'];
    case 'installing':
    case 'installed':
    case 'failed':
    case 'rejected':
    case 'superseded':
      return [];
  }
}
