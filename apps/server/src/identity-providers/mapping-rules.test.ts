import type { Mapping } from '@tidegate/protocol/identity-providers-api';
import { expect, test } from 'vitest';
import { grantOf } from './mapping-rules.ts';

const MAPPING: Mapping = [
  { group: 'everybody', role: 'viewer', groups: null },
  { group: 'web', role: 'approver', groups: ['web'] },
  { group: 'db', role: 'approver', groups: ['db', 'web'] },
  { group: 'lead', role: 'approver', groups: null },
  { group: 'root', role: 'admin', groups: ['lab'] },
];
const DEFAULT = { role: 'viewer', groups: ['lab'] } as const;

test.each([
  [[], null],
  [['others', 'Web'], null],
  [['everybody'], { role: 'viewer', groups: null }],
  // A lower role does not widen a higher one.
  [['everybody', 'web'], { role: 'approver', groups: ['web'] }],
  [['db', 'web'], { role: 'approver', groups: ['db', 'web'] }],
  [['db', 'lead'], { role: 'approver', groups: null }],
  [['lead', 'root'], { role: 'admin', groups: ['lab'] }],
])('%j: %j', (groups, grant) => {
  expect(grantOf({ mapping: MAPPING, defaultGrant: null }, groups)).toEqual(grant);
  const defaultGrant = { ...DEFAULT, groups: [...DEFAULT.groups] };
  expect(grantOf({ mapping: MAPPING, defaultGrant }, groups)).toEqual(grant ?? DEFAULT);
});
