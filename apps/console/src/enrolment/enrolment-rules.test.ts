import { describe, expect, test } from 'vitest';
import { enrolSteps, isReachableSafely, joinedWith, tokenState } from './enrolment-rules.ts';

describe('enrolment', () => {
  test.each([
    ['https://fleet.example.com', true],
    ['http://localhost:8080', true],
    ['http://127.0.0.1:8080', true],
    ['http://[::1]:8080', true],
    ['http://127.0.0.1.evil.example', false],
    ['http://localhost.evil.example', false],
    ['http://10.0.0.1', false],
  ])('%s is safe to enrol at: %s', (origin, safe) => {
    expect(isReachableSafely(origin)).toBe(safe);
    const lines = enrolSteps({ origin, token: 'tgr_x' }).map(({ command }) => command);
    expect(lines.some((line) => line.includes('--allow-insecure-http'))).toBe(!safe);
  });

  test('the command takes the token from the environment, not from its arguments', () => {
    const command = enrolSteps({ origin: 'https://fleet.example.com', token: 'tgr_x' })[1]?.command;
    expect(command).toBe(
      'TIDEGATE_TOKEN=tgr_x tidegate-agent enrol --server https://fleet.example.com --user tidegate-agent',
    );
  });

  test.each([
    [{ seats: 2, seats_used: 1, expires_at: '2026-01-02T00:00:00Z' }, 'open'],
    [{ seats: 2, seats_used: 2, expires_at: '2026-01-02T00:00:00Z' }, 'used up'],
    [{ seats: 2, seats_used: 1, expires_at: '2026-01-01T00:00:00Z' }, 'expired'],
  ])('%j is %s', (token, state) => {
    expect(tokenState(token, Date.parse('2026-01-01T00:00:00Z'))).toBe(state);
  });

  test('hosts that joined with the token are listed once each, in order', () => {
    const event = (agent_id: string | null, content: unknown) => ({ agent_id, content });
    const events = [
      event('b', { hostname: 'web-2', registration_token_id: 't' }),
      event('a', { hostname: 'web-1', registration_token_id: 't' }),
      event('c', { hostname: 'other', registration_token_id: 'u' }),
      event('d', { hostname: 7, registration_token_id: 't' }),
      event(null, { hostname: 'nobody', registration_token_id: 't' }),
      event('e', null),
    ];
    expect(joinedWith('t', events)).toEqual([
      { agentId: 'd', hostname: 'd' },
      { agentId: 'a', hostname: 'web-1' },
      { agentId: 'b', hostname: 'web-2' },
    ]);
  });
});
