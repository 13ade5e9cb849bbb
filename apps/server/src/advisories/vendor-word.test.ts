import { describe, expect, test } from 'vitest';
import type { OsvRecord } from './osv-schema.ts';
import { sharedWord, vendorWord, wordsOf } from './vendor-word.ts';

const ZLIB = { ecosystem: 'Debian:12', name: 'zlib', version: '1:1.2.13.dfsg-1' };
const UNIMPORTANT = { by: 'debian', status: 'unimportant' };

function affected(specific: unknown, target: Partial<typeof ZLIB> = {}) {
  const { ecosystem, name } = { ...ZLIB, ...target };
  return { package: { ecosystem, name }, ecosystem_specific: specific };
}

function record(members: readonly object[], rest: object = {}): OsvRecord {
  return { id: 'DEBIAN-CVE-1', modified: '2026-01-01T00:00:00Z', affected: [...members], ...rest };
}

const calls = (urgency: string) => ({ urgency });

describe("a vendor's word", () => {
  test.each([
    ['Debian:12', calls('unimportant'), 'debian', 'unimportant'],
    ['Debian:12', calls('Unimportant '), 'debian', 'unimportant'],
    ['Debian:12', calls('not-affected'), 'debian', 'not_affected'],
    ['Debian:12', calls('ignored'), 'debian', 'ignored'],
    ['Debian:12', calls('postponed'), 'debian', 'postponed'],
    ['Debian:12', calls('end-of-life'), 'debian', 'end_of_life'],
    ['Debian:12', { urgency: 'not yet assigned', nodsa_reason: 'postponed' }, 'debian', 'postponed'],
    ['Debian:12', { urgency: 'unimportant', nodsa_reason: 'ignored' }, 'debian', 'unimportant'],
    ['Ubuntu:22.04:LTS', { ubuntu_priority: 'negligible' }, 'ubuntu', 'negligible'],
    ['Ubuntu:22.04:LTS', { status: 'ignored' }, 'ubuntu', 'ignored'],
    ['Ubuntu:22.04:LTS', { status: 'deferred' }, 'ubuntu', 'deferred'],
    ['Red Hat:enterprise_linux:9::baseos', { state: 'Will not fix' }, 'redhat', 'will_not_fix'],
    ['Red Hat:enterprise_linux:9::baseos', { fix_state: 'Fix deferred' }, 'redhat', 'deferred'],
    ['Red Hat:enterprise_linux:9::baseos', { state: 'Not affected' }, 'redhat', 'not_affected'],
    ['Red Hat:enterprise_linux:9::baseos', { state: 'Out of support scope' }, 'redhat', 'out_of_support'],
  ])('%s %j is read as that of %s: %s', (ecosystem, specific, by, status) => {
    const subject = { ...ZLIB, ecosystem };
    expect(vendorWord(record([affected(specific, { ecosystem })]), subject)).toEqual({ by, status });
  });

  test("Ubuntu's priority of the whole record counts for its packages", () => {
    const subject = { ...ZLIB, ecosystem: 'Ubuntu:22.04:LTS' };
    const rest = { severity: [{ type: 'Ubuntu', score: 'negligible' }] };
    const said = vendorWord(record([affected({}, { ecosystem: subject.ecosystem })], rest), subject);
    expect(said).toEqual({ by: 'ubuntu', status: 'negligible' });
    expect(vendorWord(record([affected({})], rest), ZLIB)).toBeNull();
  });

  test.each<[string, readonly object[]]>([
    ['about another release', [affected(calls('unimportant'), { ecosystem: 'Debian:11' })]],
    ['about another package', [affected(calls('unimportant'), { name: 'zlib-ng' })]],
    [
      'about another release, while this one has none',
      [affected({}), affected(calls('unimportant'), { ecosystem: 'Debian:13' })],
    ],
    ['that another member contradicts', [affected(calls('unimportant')), affected(calls('ignored'))]],
    ['that another member does not repeat', [affected(calls('unimportant')), affected({})]],
    [
      'that the member for every release does not repeat',
      [affected(calls('unimportant')), affected({}, { ecosystem: 'Debian' })],
    ],
    ['without a meaning', [affected(calls('high'))]],
    ['not assigned yet', [affected(calls('not yet assigned'))]],
    ['that is no text', [affected({ urgency: ['unimportant'] })]],
    ['in a member that is no object', [affected('unimportant')]],
    ['in no member at all', []],
  ])('%s says nothing', (_what, members) => {
    expect(vendorWord(record(members), ZLIB)).toBeNull();
  });

  test('of nobody: npm and PyPI have no vendor, and a missing record has no word', () => {
    const npm = { ecosystem: 'npm', name: 'zlib', version: '1' };
    expect(vendorWord(record([affected(calls('unimportant'), npm)]), npm)).toBeNull();
    expect(vendorWord(null, ZLIB)).toBeNull();
  });

  test('about every release applies to each', () => {
    const said = vendorWord(record([affected(calls('unimportant'), { ecosystem: 'Debian' })]), ZLIB);
    expect(said).toEqual(UNIMPORTANT);
  });

  test('is shared only by records that all say it', () => {
    const word = vendorWord(record([affected(calls('unimportant'))]), ZLIB);
    expect(sharedWord([word, word])).toEqual(UNIMPORTANT);
    expect(sharedWord([word, null])).toBeNull();
    expect(sharedWord([null, word])).toBeNull();
    expect(sharedWord([])).toBeNull();
  });

  test('is stored cut, and without other members', () => {
    const words = wordsOf({ urgency: 'x'.repeat(1_000), binaries: [1], state: 7 });
    expect(words).toEqual({ urgency: 'x'.repeat(64) });
  });
});
