import type { Divergence, HashStanding } from '@tidegate/protocol/artifacts-api';

/** What became of a hash, and what that means for updates. */
export const STANDING_WORDS: Readonly<Record<HashStanding, string>> = {
  accepted: 'accepted by an operator',
  refused: 'refused by an operator: blocked',
  confirmed: 'confirmed by the registry',
  contradicted: 'contradicted by the registry: blocked',
  established: 'stands: enough hosts name it',
  outvoted: 'named by fewer hosts: blocked',
  disputed: 'disputed: blocked until somebody decides',
  unsupported: 'no host that counts names it: blocked',
};

/** What a divergence waits for, or what settled it. */
export function stateWords({ state, settled_by }: Pick<Divergence, 'state' | 'settled_by'>): string {
  if (state === 'open') return 'waits for a decision';
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
