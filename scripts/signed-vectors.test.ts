import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeySetPayload, SigningKeyEntry } from '@tidegate/protocol/documents';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import {
  judgeByState,
  STATE_MAX_AGE_MINUTES,
  STATE_REFUSAL_TEXT,
  verifyAgentState,
} from '../apps/agent/src/trust/agent-state.ts';
import { acceptKeySet } from '../apps/agent/src/trust/trusted-keys.ts';
import { APPROVAL_REFUSAL_TEXT, verifyApproval } from '../apps/agent/src/trust/verify-approval.ts';
import { COMMAND_REFUSALS, verifyCommand } from '../apps/agent/src/trust/verify-command.ts';
import { signedVectors } from './signed-vectors.ts';

const PATH = join(import.meta.dirname, '../vectors/signed-documents.json');
const TEXT = readFileSync(PATH, 'utf8');

const aCase = { verdict: Type.String(), envelope: Type.Unknown(), now: Type.Optional(Type.String()) };
const Reference = strict({ token_id: Type.String(), sha256: Type.String() });
const Approval = strict({ token_id: Type.String(), issued_at: Type.String() });
const Vectors = strict({
  about: Type.String(),
  host: strict({
    fleet_id: Type.String(),
    agent_id: Type.String(),
    machine_id: Type.String(),
    now: Type.String(),
    trusted: strict({
      version: Type.Integer(),
      expires_at: KeySetPayload.properties.expires_at,
      keys: Type.Array(SigningKeyEntry),
    }),
    highest: strict({ epoch: Type.Integer(), seq: Type.Integer() }),
    seen: Type.Array(Type.String()),
  }),
  commands: Type.Array(strict(aCase)),
  approvals: Type.Array(strict({ ...aCase, update_ids: Type.Array(Type.String()), reference: Reference })),
  agent_states: Type.Array(
    strict({
      ...aCase,
      approval: Approval,
      epoch: Type.Integer(),
      newest_shown: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  key_sets: Type.Array(strict(aCase)),
});
const { host, commands, approvals, agent_states, key_sets } = Value.Parse(Vectors, JSON.parse(TEXT));
const trusted = { fleet_id: host.fleet_id, ...host.trusted };
const nowOf = ({ now = host.now }: { now?: string }) => Date.parse(now);

test('the file matches the output of the script', () => {
  expect(TEXT).toBe(signedVectors());
});

describe('the agent gives each document in vectors/signed-documents.json the verdict of the file', () => {
  test.each(commands)('command: $verdict', (each) => {
    const outcome = verifyCommand(new TextEncoder().encode(JSON.stringify(each.envelope)), {
      trusted,
      agentId: host.agent_id,
      machineSha256: createHash('sha256').update(host.machine_id).digest('hex'),
      highest: host.highest,
      nowMs: nowOf(each),
      seen: (id) => host.seen.includes(id),
      strict: true,
    });
    expect(outcome.ok ? 'accepted' : outcome.reason).toBe(each.verdict);
  });

  test.each(approvals)('approval: $verdict', (each) => {
    const { reference, update_ids: updateIds, envelope } = each;
    const context = { trusted, agentId: host.agent_id, updateIds, reference, nowMs: nowOf(each) };
    const outcome = verifyApproval(envelope, context);
    expect(outcome.ok ? 'accepted' : outcome.reason).toBe(each.verdict);
  });

  test.each(agent_states)('agent state: $verdict', (each) => {
    const nowMs = nowOf(each);
    const opened = verifyAgentState(each.envelope, { trusted, agentId: host.agent_id, nowMs });
    const refusal = opened.ok
      ? judgeByState(opened.state, {
          permission: { id: each.approval.token_id, issuedAt: each.approval.issued_at },
          epoch: each.epoch,
          keySetVersion: trusted.version,
          newestShown: each.newest_shown,
          maxAgeMinutes: STATE_MAX_AGE_MINUTES,
          nowMs,
        })
      : opened.reason;
    expect(refusal ?? 'accepted').toBe(each.verdict);
  });

  test.each(key_sets)('key set: $verdict', (each) => {
    const outcome = acceptKeySet(trusted, { envelope: each.envelope, roots: [], nowMs: nowOf(each) });
    expect(outcome.ok ? 'accepted' : outcome.reason).toBe(each.verdict);
  });
});

test('every check has a case, except the size check and those that another document covers', () => {
  const missing = (checks: readonly string[], cases: readonly { verdict: string }[]) =>
    checks.filter((check) => !cases.some(({ verdict }) => verdict === check));
  expect(missing(COMMAND_REFUSALS, commands)).toEqual(['too_large']);
  expect(missing(Object.keys(APPROVAL_REFUSAL_TEXT), [...approvals, ...commands])).toEqual(['too_large']);
  expect(missing(Object.keys(STATE_REFUSAL_TEXT), [...agent_states, ...approvals, ...commands])).toEqual([]);
});
