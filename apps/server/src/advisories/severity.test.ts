import { expect, test } from 'vitest';
import { cvss3Severity, severityOf } from './severity.ts';

test.each([
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', 'critical'], // 9.8
  ['CVSS:3.0/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H', 'critical'], // 10.0
  ['CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H', 'high'], // 7.2
  ['CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H', 'critical'], // 9.9
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N', 'medium'], // 6.1
  ['CVSS:3.1/AV:N/AC:H/PR:N/UI:N/S:U/C:L/I:N/A:N', 'low'], // 3.7
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N', 'none'],
  ['CVSS:3.1/AV:N/AC:L/PR:N/UI:N/C:H/I:H/A:H', null],
  ['CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:N/VI:N/VA:H/SC:N/SI:N/SA:N', null],
  ['high', null],
])('%s is rated %s', (vector, severity) => {
  expect(cvss3Severity(vector)).toBe(severity);
});

test.each([
  [{ database_specific: { severity: 'MODERATE' } }, 'medium'],
  [{ severity: [{ type: 'Ubuntu', score: 'negligible' }] }, 'low'],
  [{ summary: 'Important: openssl security update' }, 'high'],
  [{ severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }] }, 'critical'],
  [{ summary: 'Overflow: bad' }, null],
  [{}, null],
])('%j is %s', (record, severity) => {
  expect(severityOf({ id: 'X', modified: 'now', ...record })).toBe(severity);
});
