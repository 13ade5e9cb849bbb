import { expect, test } from 'vitest';
import { skippedTexts, undoneText } from './rollback-words.ts';

const undone = (token_id: string, agent_id: string) => ({
  ...{ update_id: null, agent_id, token_id, undoes: ['u'], actions: [], action_count: 1 },
});

test.each([
  [[], 'No installation'],
  [[undone('a', 'h')], '1 installation on 1 host'],
  // A dry run may name one that two parts share twice.
  [[undone('a', 'h'), undone('b', 'h'), undone('b', 'h')], '2 installations on 1 host'],
])('%j: %s', (requested, text) => {
  expect(undoneText(requested)).toBe(text);
});

test('each reason is said once, with how many', () => {
  const one = { update_id: 'u', agent_id: 'h', code: 'changed_since' as const };
  expect(skippedTexts([one, one, { ...one, code: 'under_way' }])).toEqual([
    '2 updates left out: The host has another version by now: there is nothing to undo.',
    '1 update left out: The installation is being undone, or another version of the package is under way.',
  ]);
});
