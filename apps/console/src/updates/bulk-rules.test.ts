import { Uuid } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { ApiError } from '../api/client.ts';
import { bulkBody, isAnswerLost, outcomeText, previewBody, previewText, uuidOf } from './bulk-rules.ts';

test('a bulk request names ids or a filter with its count, and has no override (A6)', () => {
  const ids = bulkBody({ kind: 'ids', ids: ['a'] }, 'p');
  const all = bulkBody({ kind: 'filter', filter: { state: 'pending' }, count: 12 }, 'p');
  expect(ids).toEqual({ update_ids: ['a'], progress_id: 'p' });
  expect(all).toEqual({ filter: { state: 'pending' }, confirm_count: 12, progress_id: 'p' });
});

test('a preview is of the same selection, and is counted in updates, hosts and transactions', () => {
  expect(previewBody({ kind: 'ids', ids: ['a'] })).toEqual({ update_ids: ['a'] });
  const counts = { updates: 118, hosts: 12, transactions: 12, unplanned: 0 };
  const nothing = { sets: [], left_out: [], left_out_count: 0 };
  expect(previewText({ ...counts, ...nothing })).toBe('118 updates on 12 hosts: 12 transactions');
  expect(previewText({ ...counts, ...nothing, updates: 1, hosts: 1, transactions: 1 })).toBe(
    '1 update on 1 host: 1 transaction',
  );
  expect(previewText({ ...counts, ...nothing, updates: 0 })).toBe('Nothing of this can be approved now.');
});

test('the result names every kind of outcome, including zeros', () => {
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

test.each<[string, unknown, boolean]>([
  ['no answer', new ApiError({ status: 0, code: 'unreachable', message: '' }), true],
  ['an answer cut off in its middle', new TypeError('network error'), true],
  ["a proxy's page instead of it", new ApiError({ status: 502, code: 'no_problem', message: '' }), true],
  [
    'a server that failed on the way',
    new ApiError({ status: 500, code: 'internal_error', message: '' }),
    true,
  ],
  ['a server that does not begin', new ApiError({ status: 503, code: 'unavailable', message: '' }), false],
  ["a gateway's refusal", new ApiError({ status: 403, code: 'no_problem', message: '' }), false],
  ['another count', new ApiError({ status: 409, code: 'conflict', message: '' }), false],
  ['a session that is over', new ApiError({ status: 401, code: 'unauthenticated', message: '' }), false],
])('after %s it is known whether a bulk approval may have run', (_, error, isLost) => {
  expect(isAnswerLost(error)).toBe(isLost);
});
