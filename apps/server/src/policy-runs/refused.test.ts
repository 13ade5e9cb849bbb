import { expect, test } from 'vitest';
import type { WaitingUpdate } from './candidates-store.ts';
import { ASKED_AGAIN_MS, createRefused } from './refused.ts';

const UPDATE: WaitingUpdate = {
  ...{ id: 'u', agent_id: 'a', ecosystem: 'apt', name: 'openssl', arch: '', available_version: '2' },
  ...{ origin: null, change: null, recommended: 1, taken_back: 0, plan_id: 'p', judged_at: 1, updated_at: 1 },
};

test.each<[string, number, 'too_young' | null]>([
  ['is not asked for again at once', 0, 'too_young'],
  ['nor before its time', ASKED_AGAIN_MS - 1, 'too_young'],
  ['is asked for again after it', ASKED_AGAIN_MS, null],
  ['and after the clock was set back', -86_400_000, null],
])('what the gate has refused %s', (_, laterMs, expected) => {
  const refused = createRefused();
  refused.add('policy', { update: UPDATE, reason: 'too_young', nowMs: 1_000 });
  expect(refused.reasonOf('policy', UPDATE, 1_000 + laterMs)).toBe(expected);
});
