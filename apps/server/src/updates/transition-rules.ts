import type { UpdateState } from '@tidegate/protocol/states';

/** Allowed transitions from each state (docs/protocol/states.md). */
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

/**
 * States that a scan may close; in the others an operator decides. A failed update is closed only when it is seen
 * installed: another approval or an administrator brought it. So is one that is being installed: an agent scans before
 * or after an installation, and a result may never come.
 */
export const SCAN_CLOSES: readonly UpdateState[] = [
  'pending',
  'awaiting_plan',
  'approved',
  'installing',
  'failed',
];

/** Final states of an update. */
export const CLOSED_STATES: readonly UpdateState[] = ['installed', 'superseded'];

/**
 * The steps from a state to `installed` for an update that a complete scan saw installed; each step is in the
 * table. Empty if a scan must not change the state.
 */
export function stepsToSeenInstalled(from: UpdateState): readonly UpdateState[] {
  switch (from) {
    case 'pending':
    case 'installing':
      return ['installed'];
    case 'awaiting_plan':
    case 'approved':
    case 'failed':
      return ['pending', 'installed'];
    case 'installed':
    case 'rejected':
    case 'superseded':
      return [];
  }
}
