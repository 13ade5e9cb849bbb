import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { factsWith, gatePolicies, standings } from '../testing/gate-arbitraries.ts';
import { judge } from './gate.ts';

const OPERATOR = { by: 'operator', override: false, overrideReason: null } as const;

describe('whatever a policy gets, its author would have got at that moment without an override', () => {
  test.each(['policy', 'sweep'] as const)('asked by the %s', (by) => {
    let [minted, refused] = [0, 0];
    fc.assert(
      fc.property(factsWith(2), gatePolicies, standings, (facts, policy, standing) => {
        const asked = { by, override: false, overrideReason: null, standing };
        const verdict = judge(facts, policy, asked);
        const ofPerson = judge(facts, policy, OPERATOR);
        if (verdict.kind === 'mint') {
          minted += 1;
          expect(ofPerson).toMatchObject({ kind: 'mint', override: null });
          // A2, A8: a person may pass what was not checked; nothing that acts by itself does.
          expect(facts.judged?.closure.unchecked).toBeNull();
        } else if (ofPerson.kind === 'mint') refused += 1;
        if (verdict.kind === 'blocked') expect(verdict.overridable).toBe(false);
      }),
      { numRuns: 20_000 },
    );
    // Both happen, or the property says nothing.
    expect(minted).toBeGreaterThan(50);
    expect(refused).toBeGreaterThan(50);
  });
});
