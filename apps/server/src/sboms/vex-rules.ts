import type { VexJustification } from '@tidegate/protocol/vex-api';

/** What is known of a vulnerability in an installed package. Those before say less that is safe than those behind. */
export const STATES = ['affected', 'under_investigation', 'fixed', 'not_affected'] as const;

export interface Standing {
  readonly state: (typeof STATES)[number];
  /** Of `not_affected` alone. */
  readonly justification: VexJustification | null;
  /** An operator accepted the risk. */
  readonly isAccepted: boolean;
  readonly text: string;
}

/** Of several hosts with one package the least safe counts: a document names a package once. */
export function leastSafe(a: Standing | undefined, b: Standing): Standing {
  if (a === undefined) return b;
  const [rankOfA, rankOfB] = [rank(a), rank(b)];
  if (rankOfA !== rankOfB) return rankOfA < rankOfB ? a : b;
  // The same text whatever host comes first.
  return a.text <= b.text ? a : b;
}

function rank({ state, isAccepted }: Standing): number {
  return STATES.indexOf(state) * 2 + (isAccepted ? 1 : 0);
}
