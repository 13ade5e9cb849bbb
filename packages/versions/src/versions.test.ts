import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupsOf, versionsOf } from './testing/generated-versions.ts';
import { compareVersions } from './versions.ts';

type Vectors = {
  ascending: { ecosystem: string; groups: string[][] }[];
  malformed: { ecosystem: string; versions: string[] }[];
};
const vectors: Vectors = JSON.parse(
  readFileSync(new URL('../../../vectors/version-order.json', import.meta.url), 'utf8'),
);

test.each(
  vectors.ascending.map(({ ecosystem, groups }) => ({
    ecosystem,
    groups,
    line: groups.map((each) => each.join('=')).join(' '),
  })),
)('$ecosystem orders $line', ({ ecosystem, groups }) => {
  const placed = groups.flatMap((group, place) => group.map((version) => ({ version, place })));
  for (const a of placed) {
    for (const b of placed) {
      const expected = Math.sign(a.place - b.place);
      expect(compareVersions(ecosystem, a.version, b.version), `${a.version} against ${b.version}`).toBe(
        expected,
      );
    }
  }
});

test.each(vectors.malformed)(
  '$ecosystem finds no place for malformed $versions: undecidable',
  ({ ecosystem, versions }) => {
    for (const version of versions) {
      expect(compareVersions(ecosystem, version, '1.0.0'), version).toBe('undecidable');
      expect(compareVersions(ecosystem, '1.0.0', version), version).toBe('undecidable');
      expect(compareVersions(ecosystem, version, version), version).toBe('undecidable');
    }
  },
);

test.each(['', 'NPM', 'PyPI', 'Debian:12', 'rpm', 'constructor', '__proto__', 'toString'])(
  'ecosystem %j is unknown: undecidable',
  (ecosystem) => {
    expect(compareVersions(ecosystem, '1.0.0', '1.0.0')).toBe('undecidable');
  },
);

test.each(['apt', 'dnf', 'pypi'])(
  '%s: a version of 1,024 characters is ordered, a longer one is undecidable',
  (ecosystem) => {
    const long = `1${'.1'.repeat(511)}`;
    expect(compareVersions(ecosystem, `${long}1`, long)).toBe(1);
    expect(compareVersions(ecosystem, `${long}11`, long)).toBe('undecidable');
  },
);

describe.each(['npm', 'pypi', 'apt', 'dnf'] as const)('the order of %s', (ecosystem) => {
  const compare = (a: string, b: string) => {
    const sign = compareVersions(ecosystem, a, b);
    if (sign === 'undecidable') throw new Error(`${a} or ${b} should have a place`);
    return sign;
  };
  const hasPlace = (version: string) => compareVersions(ecosystem, version, version) === 0;
  const pairs = groupsOf(ecosystem, 2).filter((versions) => versions.every(hasPlace));
  const triples = groupsOf(ecosystem, 3).filter((versions) => versions.every(hasPlace));

  test('is reflexive and antisymmetric', () => {
    fc.assert(
      fc.property(pairs, ([a = '', b = '']) => {
        expect(compare(a, a)).toBe(0);
        expect(compare(a, b) + compare(b, a)).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });

  test('is transitive, for equal versions too', () => {
    fc.assert(
      fc.property(triples, (versions) => {
        const [a = '', b = '', c = ''] = versions.toSorted(compare);
        expect(Math.max(compare(a, b), compare(b, c))).toBeLessThanOrEqual(0);
        expect(compare(a, c)).toBe(Math.min(compare(a, b), compare(b, c)));
      }),
      { numRuns: 3000 },
    );
  });

  test('places every version that is generated as well-formed, but for what PEP 440 does not know', () => {
    const unplaced = fc.sample(versionsOf(ecosystem), 2000).filter((version) => !hasPlace(version));
    if (ecosystem !== 'pypi') expect(unplaced).toEqual([]);
    expect(unplaced.length).toBeLessThan(500);
  });
});
