import type { UnfixedCoverage } from '@tidegate/protocol/unfixed-api';
import { expect, test } from 'vitest';
import { gapText, knownAs, recordsBelow, shownOf } from './unfixed-rules.ts';

const KNOWN: UnfixedCoverage = {
  ...{ at: '2026-11-21T09:00:00Z', hosts: 7, unknown_hosts: 0, left_out: 0 },
  exploited_list: { state: 'current', fetched_at: '2026-11-21T03:00:00Z', released_on: '2026-11-20' },
};

test.each<[string, Partial<UnfixedCoverage>, RegExp | null]>([
  ['says nothing when every host is known', {}, null],
  ['says that nothing was counted', { at: null, hosts: 0 }, /^The hosts have not been counted yet\.$/],
  ['says that there was no host', { hosts: 0 }, /^No host has reported/],
  ['counts hosts that are not known whole', { unknown_hosts: 2 }, /^2 hosts of 7 may have more/],
  ['has a singular', { unknown_hosts: 1 }, /^1 host of 7 may have more/],
  ['says what is beyond the limit', { left_out: 5 }, /^5 more vulnerabilities are beyond/],
  ['says both', { unknown_hosts: 1, left_out: 5 }, /report\. 5 more/],
])('the gap of the list %s', (_, coverage, expected) => {
  const text = gapText({ ...KNOWN, ...coverage });
  if (expected === null) expect(text).toBeNull();
  else expect(text).toMatch(expected);
});

test.each([
  ['CVE-2026-1', ['CVE-2026-1'], 'CVE-2026-1'],
  ['DEBIAN-CVE-2026-1', ['CVE-2026-1'], 'CVE-2026-1'],
  ['DSA-1-1', ['CVE-2026-1'], 'CVE-2026-1'],
  ['DSA-2-1', [], 'DSA-2-1'],
  ['DSA-3-1', ['CVE-2026-1', 'CVE-2026-2'], 'DSA-3-1'],
])('%s about %j is known as %s', (vulnerability, cves, id) => {
  expect(knownAs({ vulnerability, cves })).toBe(id);
});

test.each([
  ['DSA-2-1', [], '', 'DSA-2-1', 0],
  ['DSA-1-1', ['CVE-2026-1'], '', 'CVE-2026-1', 0],
  ['DSA-3-1', ['CVE-2026-1', 'CVE-2026-2', 'CVE-2026-3'], '', 'CVE-2026-1', 2],
  ['DSA-3-1', ['CVE-2026-1', 'CVE-2026-2', 'CVE-2026-3'], 'cve-2026-3', 'CVE-2026-3', 2],
  ['DSA-3-1', ['CVE-2026-1', 'CVE-2026-2'], 'openssl', 'CVE-2026-1', 1],
  ['CVE-2026-2', ['CVE-2026-1', 'CVE-2026-2'], '', 'CVE-2026-2', 1],
])('of %s about %j, searched for by "%s", %s is shown, and %i more', (vulnerability, cves, q, id, more) => {
  expect(shownOf({ vulnerability, cves }, q)).toEqual({ id, more });
});

test.each([
  ['a record alone', { names: ['CVE-1'], vulnerability: 'CVE-1', cves: ['CVE-1'], records: ['CVE-1'] }, []],
  [
    'other records, those about several last',
    {
      ...{ names: ['DEBIAN-CVE-1', 'CVE-1', 'EUVD-1'], vulnerability: 'DEBIAN-CVE-1', cves: ['CVE-1'] },
      records: ['DEBIAN-CVE-1', 'DSA-1-1', 'EUVD-1'],
    },
    ['DEBIAN-CVE-1', 'EUVD-1', 'DSA-1-1 *'],
  ],
  [
    'an advisory about several',
    { names: ['DSA-1-1'], vulnerability: 'DSA-1-1', cves: ['CVE-1', 'CVE-2'], records: ['DSA-1-1'] },
    ['DSA-1-1 *'],
  ],
  [
    'an advisory about several that has the row of the last of them',
    { names: ['DSA-1-1'], vulnerability: 'DSA-1-1', cves: ['CVE-1'], records: ['DSA-1-1'] },
    ['DSA-1-1 *'],
  ],
])('below the id stand the ids of %s', (_, item, expected) => {
  const shown = recordsBelow(item, 'CVE-1').map(({ id, isOfSeveral }) => id + (isOfSeveral ? ' *' : ''));
  expect(shown).toEqual(expected);
});
