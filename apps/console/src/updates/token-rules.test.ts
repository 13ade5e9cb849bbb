import { expect, test } from 'vitest';
import { overrideEvent } from './token-rules.ts';

const payloadOf = (token: unknown) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(token))));

test.each([
  [{ override: { by: 'olga', event_id: 'e-1' } }, 'e-1'],
  [{ package: { name: 'ünïcode' }, override: { event_id: 'e-2' } }, 'e-2'],
  [{ override: null }, null],
  [{}, null],
  [null, null],
])('the token %j names the event %j', (token, event) => {
  expect(overrideEvent({ payload: payloadOf(token) })).toBe(event);
});

test('an unreadable token names no event', () => {
  expect(overrideEvent({ payload: '%%' })).toBeNull();
  expect(overrideEvent({ payload: btoa('no json') })).toBeNull();
});
