import { VEX_JUSTIFICATIONS } from '@tidegate/protocol/vex-api';
import { expect, test } from 'vitest';
import { JUSTIFICATIONS, prefillOf, versionsOf } from './statement-rules.ts';

test('every justification has words', () => {
  expect(Object.keys(JUSTIFICATIONS).sort()).toEqual([...VEX_JUSTIFICATIONS].sort());
});

test.each([
  ['1.0-1', ['1.0-1']],
  ['1.0-1, 1.0-2\n1:2.0~rc1+b1\n', ['1.0-1', '1.0-2', '1:2.0~rc1+b1']],
  ['1.0 1.0', ['1.0']],
  [' \n ', []],
])('the versions of %j are %j', (text, expected) => {
  expect(versionsOf(text)).toEqual(expected);
});

test.each([
  [{}, null],
  [{ vulnerability: 'CVE-2026-1' }, null],
  [
    { vulnerability: 'CVE-2026-1', package: 'curl', ecosystem: 'dnf', version: 8.5, distribution: 'rocky' },
    {
      ...{
        vulnerability: 'CVE-2026-1',
        name: 'curl',
        ecosystem: 'dnf',
        version: '8.5',
        distribution: 'rocky',
      },
      host: null,
    },
  ],
  [
    { vulnerability: 'CVE-2026-1', package: 'curl', ecosystem: 'gem' },
    {
      vulnerability: 'CVE-2026-1',
      name: 'curl',
      ecosystem: 'apt',
      version: '',
      distribution: '',
      host: null,
    },
  ],
  [
    { vulnerability: 'CVE-2026-1', package: 'curl', agent_id: 'id-1', hostname: 'web-1' },
    {
      ...{ vulnerability: 'CVE-2026-1', name: 'curl', ecosystem: 'apt', version: '', distribution: '' },
      host: { id: 'id-1', hostname: 'web-1' },
    },
  ],
  [
    { vulnerability: 'CVE-2026-1', package: 'curl', agent_id: 'id-1' },
    {
      vulnerability: 'CVE-2026-1',
      name: 'curl',
      ecosystem: 'apt',
      version: '',
      distribution: '',
      host: null,
    },
  ],
])('the address %j proposes %j', (search, expected) => {
  expect(prefillOf(search)).toEqual(expected);
});
