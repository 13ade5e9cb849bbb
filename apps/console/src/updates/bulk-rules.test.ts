import { expect, test } from 'vitest';
import { bulkBody, outcomeText } from './bulk-rules.ts';

test('a bulk request names ids or a filter with its count, and has no override (A6)', () => {
  const ids = bulkBody({ kind: 'ids', ids: ['a'] });
  const all = bulkBody({ kind: 'filter', filter: { state: 'pending' }, count: 12 });
  expect(ids).toEqual({ update_ids: ['a'] });
  expect(all).toEqual({ filter: { state: 'pending' }, confirm_count: 12 });
});

test('what came of it names every kind of outcome, also those that are zero', () => {
  const token = { update_id: 'a', token_id: 'b' };
  expect(outcomeText({ approved: [token], awaiting_plan: ['c', 'd'], blocked: [], skipped: [] })).toBe(
    '1 approved, 2 waiting for a plan, 0 blocked, 0 skipped',
  );
});
