import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasProvenance, npmBundles, pypiBundles } from './attestation-answers.ts';
import { bare, bestOf, isDropped, isSettled, type ProvenanceStatus } from './provenance-rules.ts';

const LONG = process.env.TIDEGATE_LONG === '1';
const LIMITS = LONG ? { numRuns: 1e9, interruptAfterTimeLimit: 60_000 } : { numRuns: 300 };
const HOUR_MS = 3_600_000;

test.each<[ProvenanceStatus | undefined, ProvenanceStatus, boolean]>([
  ['verified', 'absent', true],
  ['unverified', 'absent', true],
  ['mismatch', 'absent', true],
  ['absent', 'absent', false],
  ['unknown', 'absent', false],
  [undefined, 'absent', false],
  ['verified', 'unknown', false],
  ['verified', 'unverified', false],
  ['verified', 'mismatch', false],
  ['verified', 'verified', false],
])('%s on the host and %s now: dropped is %s', (before, after, dropped) => {
  expect(isDropped(before, after)).toBe(dropped);
});

test('of several attestations the strongest counts, and none is absent', () => {
  const all = (['mismatch', 'unknown', 'verified', 'absent', 'unverified'] as const).map(bare);
  expect(bestOf(all).status).toBe('verified');
  expect(bestOf(all.filter(({ status }) => status !== 'verified')).status).toBe('unverified');
  expect(bestOf([]).status).toBe('absent');
});

test.each<[ProvenanceStatus, number, boolean]>([
  ['verified', 1e9 * HOUR_MS, true],
  ['absent', 24 * HOUR_MS - 1, true],
  ['absent', 24 * HOUR_MS, false],
  ['unknown', HOUR_MS / 4, false],
  ['verified', -1, false],
])('%s is fetched again after a while: after %d ms settled is %s', (status, afterMs, settled) => {
  expect(isSettled({ status, fetchedAtMs: 1_000 }, 1_000 + afterMs)).toBe(settled);
});

describe('answers of registries', () => {
  test("npm's own publish signature is no provenance", () => {
    const publish = {
      predicateType: 'https://github.com/npm/attestation/tree/main/specs/publish/v0.1',
      bundle: 1,
    };
    const build = { predicateType: 'https://slsa.dev/provenance/v0.2', bundle: 2 };
    expect(npmBundles(JSON.stringify({ attestations: [publish, build] }))).toEqual([2]);
    expect(npmBundles(JSON.stringify({ attestations: [publish] }))).toEqual([]);
  });

  test.each([
    ['a wheel', 'left-1.0-py3-none-any.whl', true],
    ['the same version in a different spelling', 'left-1.0.0.tar.gz', true],
    ['an older form of archive', 'left-1.0.tar.bz2', true],
    ['another version', 'left-1.1.tar.gz', false],
    ['a file without a version', 'left', false],
  ])('a project has provenance of a version by %s', (_what, filename, has) => {
    expect(hasProvenance(JSON.stringify({ files: [{ filename, provenance: 'https://x' }] }), '1.0')).toBe(
      has,
    );
    expect(hasProvenance(JSON.stringify({ files: [{ filename, provenance: null }] }), '1.0')).toBe(false);
  });

  test(
    'whatever they are, nothing is thrown',
    () => {
      const key = fc.constantFrom(
        'attestations',
        'attestation_bundles',
        'files',
        'filename',
        'provenance',
        '__proto__',
      );
      const shaped = fc.letrec((tie) => ({
        any: fc.oneof(fc.jsonValue(), fc.array(tie('any'), { maxLength: 3 }), fc.dictionary(key, tie('any'))),
      })).any;
      const run = fc.property(
        fc.oneof(
          fc.string(),
          shaped.map((value) => JSON.stringify(value) ?? ''),
        ),
        (text) => {
          for (const read of [npmBundles(text), pypiBundles(text)])
            expect(read?.length ?? 0).toBeLessThanOrEqual(16);
          expect([true, false, null]).toContain(hasProvenance(text, '1.0'));
        },
      );
      fc.assert(run, LIMITS);
    },
    LONG ? 90_000 : 20_000,
  );
});
