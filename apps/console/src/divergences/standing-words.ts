import type { Divergence, HashStanding } from '@tidegate/protocol/artifacts-api';

/** The standing of a hash, and what it means for updates. */
export const STANDING_WORDS: Readonly<Record<HashStanding, string>> = {
  accepted: 'accepted by an operator',
  refused: 'refused by an operator: blocked',
  confirmed: 'confirmed by the registry',
  contradicted: 'contradicted by the registry: blocked',
  established: 'confirmed by enough hosts',
  outvoted: 'reported by fewer hosts: blocked',
  disputed: 'disputed: blocked until an operator decides',
  unsupported: 'reported by no trusted host: blocked',
};

/** What a divergence waits for, or what settled it. */
export function stateWords({ state, settled_by }: Pick<Divergence, 'state' | 'settled_by'>): string {
  if (state === 'open') return 'needs a decision';
  switch (settled_by) {
    case 'registry':
      return 'settled by the registry';
    case 'quorum':
      return 'settled by most hosts';
    case 'hosts':
      return 'withdrawn';
    case 'operator':
    case null:
      return 'decided';
  }
}
