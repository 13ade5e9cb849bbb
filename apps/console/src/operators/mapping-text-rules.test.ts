import { expect, test } from 'vitest';
import { mappingText, readMapping } from './mapping-text-rules.ts';

const MAPPING = [
  { group: 'tidegate admins', role: 'admin', groups: null },
  { group: 'CN=web,OU=teams', role: 'approver', groups: ['web', 'db'] },
] as const;
const TEXT = 'tidegate admins = admin\nCN=web,OU=teams = approver: web, db';

test('rules are lines, and lines are the same rules again', () => {
  const mapping = MAPPING.map((rule) => ({ ...rule, groups: rule.groups && [...rule.groups] }));
  expect(mappingText(mapping)).toBe(TEXT);
  expect(readMapping(`\n${TEXT}\n  \n`)).toEqual({ ok: true, mapping });
});

test.each(['admins', 'admins = root', '= admin', 'admins: admin'])('%j is no rule', (line) => {
  expect(readMapping(`a = viewer\n${line}`)).toEqual({ ok: false, line });
});
