import { expect, test } from 'vitest';
import { ApiError } from './client.ts';
import { faultAt, faultUnder, fieldFaults } from './field-faults.ts';

const error = new ApiError({
  status: 400,
  code: 'invalid_request',
  message: 'The body is not valid.',
  problem: {
    ...{ type: 'about:blank', title: 'Bad Request', status: 400, code: 'invalid_request' },
    ...{ detail: 'The body is not valid.', request_id: 'r' },
    errors: [
      { path: '/expires_at', message: 'is in the past' },
      { path: '/expires_at', message: 'is late' },
      { path: '/classes/login/requests', message: 'must be at least 1' },
    ],
  },
});

test('each field gets its first fault', () => {
  expect(fieldFaults(error)).toEqual({ expires_at: 'is in the past', requests: 'must be at least 1' });
  expect(fieldFaults(new Error('another'))).toEqual({});
});

test.each([
  ['/expires_at', 'is in the past', 'is in the past'],
  ['/classes', undefined, 'must be at least 1'],
  ['/classes/login/requests', 'must be at least 1', 'must be at least 1'],
  ['/class', undefined, undefined],
  ['/classes/log', undefined, undefined],
])('the fault at %s: %s, and in it: %s', (pointer, at, under) => {
  expect(faultAt(error, pointer)).toBe(at);
  expect(faultUnder(error, pointer)).toBe(under);
  expect(faultUnder(new Error('another'), pointer)).toBeUndefined();
});
