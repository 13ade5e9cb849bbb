import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupsOf, versionsOf } from './testing/generated-versions.ts';
import { compareVersions } from './versions.ts';

/** Each line ascends strictly from left to right; versions joined by `=` are equal. */
const ascending: [ecosystem: string, line: string][] = [
  [
    'apt',
    '1.0~~ 1.0~~a 1.0~ 1.0~rc1 1.0=0:1.0=1.0-0=1.00=00:1.0-00 1.0-1~bpo 1.0-1 1.0-1+b2 1.0-1.1 1.0-2 1.0a 1.0+dfsg-1 1.0.1 1:0',
  ],
  ['apt', '2~ 2 2a 2aa 2ab 2b 2z 2+ 2.~=2.~0 2.=2.0=2.000 2.1'],
  ['apt', '1.9 1.10 1.99999999999999999998 1.99999999999999999999 1.100000000000000000000'],
  ['apt', '1:1.2 2:1.1 10:1.0 99999999999999999998:1 99999999999999999999:1'],
  ['apt', '1-1 1-1-1 1:1-1 1:1:1-1'],
  ['dnf', '1.0~~ 1.0~rc1 1.0~rc1^a 1.0=0:1.0=1.00=1_0=1.0.=01.0 1.0^ 1.0^20240101 1.0.a 1.0.1 1.1 1:0.1'],
  ['dnf', '1.0 1.0-~ 1.0-1~x 1.0-1 1.0-1^x 1.0-1.el9 1.0-1.1 1.0-2 1.0.1'],
  ['dnf', '5.2.5 0:5.2.5-8.el9_0 0:5.2.5-9.el9 1:5.2.5'],
  ['dnf', '1.z 1.0=1.00 1.9 1.10 1.99999999999999999998 1.99999999999999999999'],
  [
    'npm',
    '1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0=1.0.0+a=1.0.0+b 1.0.1',
  ],
  ['npm', '1.9.0 1.10.0 1.9007199254740990.0 1.9007199254740991.0 2.0.0-0 2.0.0'],
  [
    'pypi',
    '1.0.dev1 1.0a0.dev1 1.0a0=1.0alpha=1.0-A.0 1.0a1 1.0b1 1.0rc1=1.0c1=1.0pre1 1.0=v1.0=1=1.0.0=0!1.0 1.0+a 1.0+1 1.0+1.a 1.0+1.1 1.0.post1.dev1 1.0.post1=1.0-1=1.0r1 1.0.1 1!0.1',
  ],
  [
    'pypi',
    '1.9007199254740992 1.9007199254740993 1.99999999999999999999=1.0099999999999999999999 2.dev99999999999999999998 2.dev99999999999999999999 2 99999999999999999998!1 99999999999999999999!0',
  ],
  [
    'pypi',
    '1a99999999999999999998 1a99999999999999999999 1 1.post99999999999999999998 1-99999999999999999999=1.post99999999999999999999',
  ],
  ['pypi', '1.0+1e5 1.0+9=1.0+09 1.0+10 1.0+99999999999999999998 1.0+99999999999999999999'],
];

test.each(ascending)('%s orders %s', (ecosystem, line) => {
  const placed = line
    .split(' ')
    .flatMap((group, place) => group.split('=').map((version) => ({ version, place })));
  for (const a of placed) {
    for (const b of placed) {
      const expected = Math.sign(a.place - b.place);
      expect(compareVersions(ecosystem, a.version, b.version), `${a.version} against ${b.version}`).toBe(
        expected,
      );
    }
  }
});

test.each([
  [
    'npm',
    ['', '1', '1.2', '1.2.3.4', '01.2.3', '1.2.x', '^1.2.3', ' 1.2.3', '1.2.3\n', 'latest', '1.2.3-01'],
  ],
  [
    'npm',
    [
      '9007199254740992.0.0',
      '1.0.99999999999999999999',
      '1.0.0-9007199254740992',
      '1.0.0-a.99999999999999999999',
    ],
  ],
  [
    'pypi',
    ['', 'dog', '1.0.x', '0.5m5', '1.0-a-b', '2013-05-09T12:47:53', '1.0+', '1.0+a b', '1..0', '==1.0'],
  ],
  [
    'apt',
    [
      '',
      ':1',
      'a:1',
      '-1:1',
      '+1:1',
      '1.5:1',
      '1:',
      '1-',
      '1:-1',
      '1_0',
      '1 0',
      ' 1',
      '1\n',
      '1-1_2',
      '1-1:2',
      'é',
    ],
  ],
  [
    'dnf',
    [
      '',
      ':1',
      'a:1',
      '-1:1-1',
      '1:',
      '1:-1',
      '1-',
      '-1',
      '1-2-3',
      '1:2:3',
      '1 0',
      ' 1',
      '1\n',
      '1/2',
      '(none):1-1',
      'é',
    ],
  ],
])('%s finds no place for malformed %j: undecidable', (ecosystem, versions) => {
  for (const version of versions) {
    expect(compareVersions(ecosystem, version, '1.0.0'), version).toBe('undecidable');
    expect(compareVersions(ecosystem, '1.0.0', version), version).toBe('undecidable');
    expect(compareVersions(ecosystem, version, version), version).toBe('undecidable');
  }
});

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
