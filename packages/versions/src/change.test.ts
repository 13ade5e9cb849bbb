import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import semver from 'semver';
import { describe, expect, test } from 'vitest';
import { CHANGES, changeOf, isOfSeries, isWithin, MAX_CHANGES } from './change.ts';
import { groupsOf, versionsOf } from './testing/generated-versions.ts';
import { compareVersions } from './versions.ts';

test.each([
  ['npm', '1.2.3', '1.2.4', 'patch'],
  ['npm', '1.2.3', '1.3.0', 'minor'],
  ['npm', '1.2.3', '2.0.0', 'major'],
  ['npm', '1.2.3', '1.2.3+build', 'patch'],
  ['npm', '2.0.0-rc.1', '2.0.0', 'patch'],
  ['npm', '0.3.1', '0.3.2', 'patch'],
  ['npm', '0.3.1', '0.4.0', 'major'],
  ['npm', '0.9.0', '1.0.0', 'major'],
  ['npm', '1.2', '1.3.0', null],
  ['npm', `1.${'9'.repeat(40)}.0`, '1.0.0', null],
  ['pypi', '1.4', '1.4.1', 'patch'],
  ['pypi', '1.4.0', '1.4.0.post1', 'patch'],
  ['pypi', '1.4', '1.5', 'minor'],
  ['pypi', '1', '1.1', 'minor'],
  ['pypi', '1', '1.0.0.7', 'patch'],
  ['pypi', '1.9', '2.0', 'major'],
  ['pypi', '0.3', '0.3.9', 'patch'],
  ['pypi', '0.3', '0.4', 'major'],
  ['pypi', '2024.1', '2025.1', 'major'],
  ['pypi', '1.0', '1!1.0', 'major'],
  ['pypi', '01.04', '1.4.2', 'patch'],
  ['pypi', `${'9'.repeat(40)}.1`, `${'9'.repeat(40)}.2`, 'minor'],
  ['pypi', 'not a version', '1.0', null],
  ['apt', '1.0-1', '1.0-2', null],
  ['dnf', '1.0-1', '1.0-2', null],
  ['gem', '1.0.0', '1.0.1', null],
])('%s: from %s to %s is %s', (ecosystem, from, to, expected) => {
  expect(changeOf(ecosystem, { from, to })).toBe(expected);
  expect(changeOf(ecosystem, { from: to, to: from })).toBe(expected);
  expect(isOfSeries(ecosystem, { from, to })).toBe(expected === null ? null : expected !== 'major');
});

test('each policy allows what the one before it allows; what is not known passes `any` alone', () => {
  expect(MAX_CHANGES.map((max) => [...CHANGES, null].map((change) => isWithin(max, change)))).toEqual([
    [true, false, false, false],
    [true, true, false, false],
    [true, true, true, true],
  ]);
});

describe.each(['npm', 'pypi'] as const)('on random versions of %s', (ecosystem) => {
  const three = groupsOf(ecosystem, 3).filter((all) =>
    all.every((one) => compareVersions(ecosystem, one, one) === 0),
  );
  const change = (from = '', to = '') => changeOf(ecosystem, { from, to });
  const rank = (from = '', to = '') => [...CHANGES, null].indexOf(change(from, to));

  test('versions that are one by the order are a patch apart, and every ordered pair has a change', () => {
    fc.assert(
      fc.property(three, ([a = '', b = '']) => {
        expect(change(a, b)).not.toBeNull();
        if (compareVersions(ecosystem, a, b) === 0) expect(change(a, b)).toBe('patch');
      }),
    );
  });

  test('a farther version is never a smaller change, and a series has no gap', () => {
    fc.assert(
      fc.property(three, (versions) => {
        const [a, b, c] = versions.toSorted((x, y) => Number(compareVersions(ecosystem, x, y)));
        expect(rank(a, c)).toBeGreaterThanOrEqual(Math.max(rank(a, b), rank(b, c)));
      }),
    );
  });

  test('a series is an equivalence', () => {
    fc.assert(
      fc.property(three, ([a = '', b = '', c = '']) => {
        const same = (from: string, to: string) => isOfSeries(ecosystem, { from, to });
        expect(same(a, a)).toBe(true);
        expect(same(a, b)).toBe(same(b, a));
        if (same(a, b) && same(b, c)) expect(same(a, c)).toBe(true);
      }),
    );
  });
});

test('of npm, newer releases of the series are what the caret allows, as the library of npm reads it', () => {
  const release = versionsOf('npm').filter((version) => semver.prerelease(version) === null);
  fc.assert(
    fc.property(release, release, (from, to) => {
      // ^0.0.3 is that version alone, but 0.0.4 is of its series.
      fc.pre(semver.compare(to, from) > 0 && !from.startsWith('0.0.'));
      // The end of its range would be a number that the library refuses.
      fc.pre(!from.includes('9007199254740991'));
      expect(isOfSeries('npm', { from, to })).toBe(semver.satisfies(to, `^${from}`));
      const change = changeOf('npm', { from, to });
      if (!from.startsWith('0.')) expect(change).toBe(semver.diff(from, to));
    }),
  );
});

const PACKAGING = `
import json, sys
from packaging.version import Version, InvalidVersion
for line in sys.stdin:
    try:
        a, b = map(Version, json.loads(line))
    except InvalidVersion:
        print("null")
        continue
    if a.epoch != b.epoch or a.major != b.major:
        print("major")
    elif a.minor == b.minor:
        print("patch")
    else:
        print("minor" if a.major else "major")
`;

function hasPackaging(): boolean {
  try {
    execFileSync('/usr/bin/python3', ['-c', 'import packaging.version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!hasPackaging())('of PyPI, major and minor are those of the library `packaging`', () => {
  const pairs = fc.sample(groupsOf('pypi', 2), 5_000);
  const input = pairs.map((pair) => `${JSON.stringify(pair)}\n`).join('');
  const answers = execFileSync('/usr/bin/python3', ['-c', PACKAGING], { input, encoding: 'utf8' });
  const ours = pairs.map(([from = '', to = '']) => `${changeOf('pypi', { from, to })}`);
  expect(ours).toEqual(answers.trim().split('\n'));
  expect(new Set(ours).size).toBe(4);
});
