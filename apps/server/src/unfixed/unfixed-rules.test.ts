import { describe, expect, test } from 'vitest';
import {
  exploitedOf,
  installedOf,
  isFixedBy,
  type Judgement,
  judgementOf,
  vulnerableOf,
} from './unfixed-rules.ts';

const DEBIAN = { id: 'debian', versionId: '12' };
const HOUR_MS = 3_600_000;

describe('a stored check', () => {
  const AT = { nowMs: 100 * HOUR_MS, maxAgeMs: 24 * HOUR_MS };
  test.each<[string, string, string | null, string[], number, boolean]>([
    ['says whole when clear and fresh', 'clear', null, [], 1, true],
    ['of yesterday does not say that there is nothing', 'clear', null, [], 25, false],
    ['of the future does not say it either', 'clear', null, [], -1, false],
    ['that failed says nothing', 'unchecked', 'unreachable', [], 1, false],
    ['of an uncovered package says nothing', 'unchecked', 'uncovered', [], 1, false],
    ['with findings says them', 'vulnerable', null, ['CVE-1'], 1, true],
    ['with old findings says them, and no more', 'vulnerable', null, ['CVE-1'], 999, false],
    ['with an incomplete list says that there may be more', 'vulnerable', 'unreachable', ['CVE-1'], 1, false],
  ])('%s', (_, verdict, reason, ids, hours, isWhole) => {
    const checkedAtMs = AT.nowMs - hours * HOUR_MS;
    expect(judgementOf({ verdict, reason, ids, checkedAtMs }, AT)).toEqual({ ids, isWhole });
  });
});

describe('an update fixes a vulnerability', () => {
  const whole = (...ids: string[]): Judgement => ({ ids, isWhole: true });
  const partly = (...ids: string[]): Judgement => ({ ids, isWhole: false });
  const openssl = {
    name: 'libssl3',
    sourceName: 'openssl',
    version: '3.0.1-1',
    sourceVersion: '3.0.1-1',
    origin: null,
  };
  const gcc = {
    ...openssl,
    name: 'gcc',
    sourceName: 'gcc-defaults',
    version: '4:12.2.0-3',
    sourceVersion: '1.203',
  };
  const rebuilt = { ...openssl, version: '3.0.1-1+b1' };
  const key = (version: string, name = 'openssl') => `Debian:12\n${name}\n${version}`;
  test.each<[string, typeof openssl, string, Record<string, Judgement>, boolean]>([
    ['if its version is judged to be free of it', openssl, '3.0.2-1', { [key('3.0.2-1')]: whole() }, true],
    ['if its version has others', openssl, '3.0.2-1', { [key('3.0.2-1')]: whole('CVE-2') }, true],
    ['not if its version has it still', openssl, '3.0.2-1', { [key('3.0.2-1')]: whole('CVE-1') }, false],
    ['not if nobody has judged its version', openssl, '3.0.2-1', {}, false],
    [
      'not if there may be more than is known',
      openssl,
      '3.0.2-1',
      { [key('3.0.2-1')]: partly('CVE-2') },
      false,
    ],
    ['as the source of a rebuild', rebuilt, '3.0.2-1+b2', { [key('3.0.2-1')]: whole() }, true],
    [
      'not if it does not tell the source’s version',
      gcc,
      '4:13-1',
      { [key('4:13-1', 'gcc-defaults')]: whole() },
      false,
    ],
  ])('%s', (_, installed, version, judged, expected) => {
    const one = installedOf('apt', DEBIAN, installed);
    const before = key(installed.sourceVersion, installed.sourceName);
    const judgements = new Map([[before, whole('CVE-1')], ...Object.entries(judged)]);
    const [vulnerable] = vulnerableOf(one, judgements).vulnerable;
    if (!vulnerable) throw new Error('not vulnerable');
    expect(isFixedBy(vulnerable, version, judgements)).toBe(expected);
  });
});

test('a package that no database can be asked about is not known', () => {
  const foreign = {
    name: 'x',
    version: '1',
    sourceName: 'x',
    sourceVersion: '1',
    origin: 'Docker CE:/bookworm',
  };
  expect(vulnerableOf(installedOf('apt', DEBIAN, foreign), new Map())).toEqual({
    ...{ vulnerable: [], unknown: [], isKnown: false },
  });
});

test.each<[boolean, boolean, boolean, string[], 1 | 0 | null]>([
  [true, true, true, ['CVE-1'], 1],
  [true, false, false, ['CVE-1'], 1],
  [false, true, true, ['CVE-1'], 0],
  [false, false, true, ['CVE-1'], null],
  [false, true, false, ['CVE-1'], null],
])(
  'listed %s, list known %s, record known %s, CVEs %j: exploited is %s',
  (isListed, isListKnown, isRecordKnown, cves, expected) => {
    expect(exploitedOf({ isListed, isListKnown, isRecordKnown, cves })).toBe(expected);
  },
);

test('without a CVE that the list could name nobody knows if it is exploited', () => {
  const known = { isListed: false, isListKnown: true, isRecordKnown: true };
  expect(exploitedOf({ ...known, cves: [] })).toBeNull();
});
