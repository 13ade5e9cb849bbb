import { expect, test } from 'vitest';
import { ApiError } from './client.ts';
import { fieldFaults } from './field-faults.ts';

test('each field gets its first fault', () => {
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
  expect(fieldFaults(error)).toEqual({ expires_at: 'is in the past', requests: 'must be at least 1' });
  expect(fieldFaults(new Error('another'))).toEqual({});
});
