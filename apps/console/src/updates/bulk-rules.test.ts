import { Uuid } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { bulkBody, outcomeText, uuidOf } from './bulk-rules.ts';

test('a bulk request names ids or a filter with its count, and has no override (A6)', () => {
  const ids = bulkBody({ kind: 'ids', ids: ['a'] }, 'p');
  const all = bulkBody({ kind: 'filter', filter: { state: 'pending' }, count: 12 }, 'p');
  expect(ids).toEqual({ update_ids: ['a'], progress_id: 'p' });
  expect(all).toEqual({ filter: { state: 'pending' }, confirm_count: 12, progress_id: 'p' });
});

test('what came of it names every kind of outcome, also those that are zero', () => {
  const token = { update_id: 'a', token_id: 'b' };
  expect(outcomeText({ approved: [token], awaiting_plan: ['c', 'd'], blocked: [], skipped: [] })).toBe(
    '1 approved, 2 waiting for a plan, 0 blocked, 0 skipped',
  );
});

test.each([[new Uint8Array(16)], [new Uint8Array(16).fill(255)]])('random bits make a UUID', (bytes) => {
  const id = uuidOf(bytes);
  expect(Value.Check(Uuid, id)).toBe(true);
  expect(id).toMatch(/^.{14}4.{4}[89ab]/);
});
