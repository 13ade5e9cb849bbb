import { type AgentStatePayload, REVOKED_TOKENS_MAX } from '@tidegate/protocol/documents';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CLOCK_SKEW_MS, timestamp } from '../platform/clock.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { judgeByState, type StateFacts } from './agent-state.ts';

const TOKEN = '01900000-0000-7000-8000-00000000abcd';
const AGENT = '01900000-0000-7000-8000-000000000001';
const at = (ms: number) => timestamp(NOW_MS + ms);

const state: AgentStatePayload = {
  ...{ v: 1, fleet_id: AGENT, agent_id: AGENT, server_time: at(0), epoch: 2, key_set_version: 3 },
  revoked_tokens: [],
  approvals_after: null,
};
const facts: StateFacts = {
  permission: { id: TOKEN, issuedAt: at(-60_000) },
  ...{ epoch: 2, keySetVersion: 3, newestShown: at(-1_000), maxAgeMinutes: 10, nowMs: NOW_MS },
};

test.each<[string, Partial<AgentStatePayload>, Partial<StateFacts>, string | null]>([
  ['all as it should be', {}, {}, null],
  ['none was shown before', {}, { newestShown: null }, null],
  ['the one that was shown before', {}, { newestShown: at(0) }, null],
  ['a newer one was shown before', {}, { newestShown: at(1_000) }, 'rolled_back'],
  ['of the second of the approval', {}, { permission: { id: TOKEN, issuedAt: at(0) } }, null],
  ['older than the approval', {}, { permission: { id: TOKEN, issuedAt: at(1_000) } }, 'older_than_approval'],
  ['just young enough', {}, { nowMs: NOW_MS + 600_000 + CLOCK_SKEW_MS }, null],
  ['just too old', {}, { nowMs: NOW_MS + 600_000 + CLOCK_SKEW_MS + 1 }, 'too_old'],
  ['old, where the host allows it', {}, { nowMs: NOW_MS + 3_600_000, maxAgeMinutes: 60 }, null],
  ['of a later epoch', { epoch: 3 }, {}, null],
  ['of an earlier epoch', { epoch: 1 }, {}, 'stale_epoch'],
  ['of an earlier key set', { key_set_version: 2 }, {}, 'stale_keys'],
  ['of a later key set', { key_set_version: 4 }, {}, 'newer_keys'],
  ['that lists the approval', { revoked_tokens: [AGENT, TOKEN] }, {}, 'taken_back'],
  ['that lists another', { revoked_tokens: [AGENT] }, {}, null],
  ['whose list begins later', { approvals_after: at(-60_000) }, {}, 'approval_too_old'],
  ['whose list begins earlier', { approvals_after: at(-61_000) }, {}, null],
])('a state %s', (_, members, changed, refusal) => {
  expect(judgeByState({ ...state, ...members }, { ...facts, ...changed })).toBe(refusal);
});

test('revocations that the server cannot list are refused too: no revoked approval is ever valid', () => {
  const approvals = fc.uniqueArray(
    fc.record({
      token_id: fc.uuid(),
      issuedSeconds: fc.integer({ min: 1, max: 20 }),
      isRevoked: fc.boolean(),
    }),
    { selector: ({ token_id }) => token_id, maxLength: 30 },
  );
  fc.assert(
    fc.property(approvals, fc.integer({ min: 0, max: 10 }), (all, bound) => {
      const issuedAt = (seconds: number) => at(-60_000 + seconds * 1_000);
      const revoked = all
        .filter(({ isRevoked }) => isRevoked)
        .sort((a, b) => b.issuedSeconds - a.issuedSeconds);
      const unlisted = revoked[bound];
      const listing: AgentStatePayload = {
        ...state,
        revoked_tokens: revoked.slice(0, bound).map(({ token_id }) => token_id),
        approvals_after: unlisted === undefined ? null : issuedAt(unlisted.issuedSeconds),
      };
      for (const { token_id, issuedSeconds, isRevoked } of all) {
        const permission = { id: token_id, issuedAt: issuedAt(issuedSeconds) };
        const refusal = judgeByState(listing, { ...facts, permission });
        if (isRevoked) expect(refusal).not.toBeNull();
        else if (revoked.length <= bound) expect(refusal).toBeNull();
      }
    }),
  );
  expect(REVOKED_TOKENS_MAX).toBe(2_000); // decision 0017
});
