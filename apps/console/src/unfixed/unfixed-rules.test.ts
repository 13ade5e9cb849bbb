import type { UnfixedCoverage } from '@tidegate/protocol/unfixed-api';
import { expect, test } from 'vitest';
import { gapText } from './unfixed-rules.ts';

const KNOWN: UnfixedCoverage = { at: '2026-11-21T09:00:00Z', hosts: 7, unknown_hosts: 0, left_out: 0 };

test.each<[string, Partial<UnfixedCoverage>, RegExp | null]>([
  ['says nothing when every host is known', {}, null],
  ['says that nothing was counted', { at: null, hosts: 0 }, /^The hosts have not been counted yet\.$/],
  ['says that there was no host', { hosts: 0 }, /^There was no host/],
  ['counts hosts that are not known whole', { unknown_hosts: 2 }, /^2 hosts of 7 may have more/],
  ['has a singular', { unknown_hosts: 1 }, /^1 host of 7 may have more/],
  ['says what is beyond the limit', { left_out: 5 }, /^5 more vulnerabilities are beyond/],
  ['says both', { unknown_hosts: 1, left_out: 5 }, /report\. 5 more/],
])('the gap of the list %s', (_, coverage, expected) => {
  const text = gapText({ ...KNOWN, ...coverage });
  if (expected === null) expect(text).toBeNull();
  else expect(text).toMatch(expected);
});
