import { describe, expect, test } from 'vitest';
import { type ArtifactFacts, passes, QUORUM, settle } from './standing-rules.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const NAMES: Readonly<Record<string, string>> = { A, B };

interface Row {
  readonly claims: readonly [number, number];
  readonly accepted?: string;
  readonly refused?: string;
  readonly confirmed?: string;
  readonly contradicted?: string;
  readonly says: string;
}

const hashesOf = (letters: string) => [...letters].map((letter) => NAMES[letter] ?? letter.repeat(64));

function factsOf({ claims: [a, b], accepted, refused, confirmed, contradicted }: Row): ArtifactFacts {
  return {
    claims: new Map([
      [A, a],
      [B, b],
    ]),
    decision:
      accepted === undefined ? null : { accepted: hashesOf(accepted), refused: hashesOf(refused ?? '') },
    registry: new Map([
      ...hashesOf(confirmed ?? '').map((hash) => [hash, 'confirmed'] as const),
      ...hashesOf(contradicted ?? '').map((hash) => [hash, 'contradicted'] as const),
    ]),
  };
}

describe('the standing of two hashes of one artifact', () => {
  test.each<Row>([
    // Hosts alone.
    { claims: [1, 1], says: 'disputed, disputed by nobody' },
    { claims: [2, 2], says: 'disputed, disputed by nobody' },
    { claims: [2, 1], says: 'disputed, disputed by nobody' },
    { claims: [QUORUM, 1], says: 'established, outvoted by quorum' },
    { claims: [QUORUM, QUORUM - 1], says: 'established, outvoted by quorum' },
    { claims: [1, QUORUM], says: 'outvoted, established by quorum' },
    { claims: [QUORUM, QUORUM], says: 'disputed, disputed by nobody' },
    { claims: [100, QUORUM], says: 'disputed, disputed by nobody' },
    // Only hosts that do not count.
    { claims: [1, 0], says: 'established, unsupported by hosts' },
    { claims: [0, 0], says: 'unsupported, unsupported by hosts' },
    // The registry outranks hosts, however many they are.
    { claims: [1, 100], confirmed: 'A', says: 'confirmed, contradicted by registry' },
    { claims: [0, 100], confirmed: 'A', says: 'confirmed, contradicted by registry' },
    { claims: [1, 100], contradicted: 'B', says: 'established, contradicted by registry' },
    { claims: [1, 1], contradicted: 'A', says: 'contradicted, established by registry' },
    { claims: [1, 1], confirmed: 'A', contradicted: 'B', says: 'confirmed, contradicted by registry' },
    { claims: [1, 100], contradicted: 'AB', says: 'contradicted, contradicted by nobody' },
    { claims: [0, 100], contradicted: 'B', says: 'unsupported, contradicted by nobody' },
    { claims: [QUORUM, 1], confirmed: 'AB', says: 'disputed, disputed by nobody' },
    { claims: [1, 1], confirmed: '', says: 'disputed, disputed by nobody' },
    // An operator's decision outranks both; a later hash waits for another decision.
    { claims: [1, 100], accepted: 'A', refused: 'B', says: 'accepted, refused by operator' },
    { claims: [1, 100], accepted: 'A', refused: 'B', confirmed: 'B', says: 'accepted, refused by operator' },
    { claims: [1, 1], accepted: 'AB', says: 'accepted, accepted by operator' },
    { claims: [1, 1], accepted: 'A', says: 'accepted, disputed by nobody' },
    { claims: [1, 0], accepted: 'A', says: 'accepted, unsupported by operator' },
    { claims: [1, 1], accepted: 'c', refused: 'AB', says: 'refused, refused by operator' },
  ])('%j', (row) => {
    const { standings, settledBy } = settle(factsOf(row));
    const said = `${standings.get(A)}, ${standings.get(B)} by ${settledBy ?? 'nobody'}`;
    expect(said).toBe(row.says);
  });

  test('at most one hash passes, unless an operator accepted more', () => {
    for (let a = 0; a <= QUORUM + 1; a++) {
      for (let b = 0; b <= QUORUM + 1; b++) {
        for (const confirmed of [undefined, 'A', 'AB', 'c', '']) {
          const row = {
            claims: [a, b],
            says: '',
            ...(confirmed === undefined ? {} : { confirmed }),
          } as const;
          const { standings } = settle(factsOf(row));
          expect([...standings.values()].filter(passes).length).toBeLessThanOrEqual(1);
        }
      }
    }
  });

  test('a hash that an operator typed passes, although nobody reported it', () => {
    const { standings } = settle(factsOf({ claims: [1, 1], accepted: 'c', refused: 'AB', says: '' }));
    expect(standings.get('c'.repeat(64))).toBe('accepted');
  });
});
