import { AGENT_STATE_TYPE, AgentStatePayload, REVOKED_TOKENS_MAX } from '@tidegate/protocol/documents';
import { loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { insertApprovals, liveTokensOf } from '../approval-tokens/store.ts';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { insertCommands } from '../commands/store.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { APPROVAL_LIFETIME_MS } from './mint-approval.ts';

describe.each(ENGINES)('the signed state for an agent on $name', (engine) => {
  async function setUp() {
    const it = await createApprovalsApp(engine);
    const headers = { 'x-test-agent': it.agentId, 'x-test-family': it.familyId, 'x-machine-id': 'machine-1' };
    /** Verified as an agent does. */
    async function state(): Promise<AgentStatePayload> {
      const url = `/api/v1/agents/${it.agentId}/state`;
      const answer = await it.app.inject({ method: 'GET', url, headers });
      expect(answer.statusCode).toBe(200);
      const [key] = it.keyRing.keySet().keys;
      const trusted = loadTrustedKey({ keyId: key?.key_id ?? '', publicKeyHex: key?.public_key_hex ?? '' });
      const verified = verifyEnvelope(answer.json(), [trusted], AGENT_STATE_TYPE);
      if (!verified.ok) throw new Error(verified.reason);
      return Value.Parse(AgentStatePayload, JSON.parse(Buffer.from(verified.payload).toString()));
    }
    async function approved(name: string): Promise<{ id: string; tokenId: string }> {
      const id = await it.addUpdate({ name });
      await it.approve(id);
      const [tokenId = ''] = await liveTokensOf(it.database.read, [id]);
      return { id, tokenId };
    }
    const deliver = () =>
      it.database.transact((tx) =>
        deliverCommands(tx, it.platform, it.keyRing, {
          agentId: it.agentId,
          machineId: 'machine-1',
          received: [],
        }),
      );
    const reopen = (id: string) => it.call('POST', `/api/v1/updates/${id}/reopen`, {});
    return { ...it, state, approved, deliver, reopen };
  }

  test('lists nothing while every approval is valid', async () => {
    const it = await setUp();
    await it.approved('openssl');
    await it.deliver();
    expect(await it.state()).toEqual({
      v: 1,
      fleet_id: it.keyRing.fleetId,
      agent_id: it.agentId,
      server_time: new Date(it.platform.now()).toISOString(),
      epoch: 1,
      key_set_version: 1,
      revoked_tokens: [],
      approvals_after: null,
    });
  });

  test('lists approvals withdrawn after delivery, for as long as an agent might accept them', async () => {
    const it = await setUp();
    const [delivered, undelivered] = [await it.approved('openssl'), await it.approved('curl')];
    await it.database.transact((tx) =>
      tx
        .updateTable('agent_commands')
        .set({ not_before: it.platform.now() + 60_000 })
        .where('approval_id', '=', undelivered.tokenId)
        .execute(),
    );
    expect(await it.deliver()).toHaveLength(1);
    for (const { id } of [delivered, undelivered]) expect((await it.reopen(id)).status).toBe(200);
    expect((await it.state()).revoked_tokens).toEqual([delivered.tokenId]);
    it.clock.advance(APPROVAL_LIFETIME_MS + 30 * 60_000);
    expect((await it.state()).revoked_tokens).toEqual([delivered.tokenId]);
    it.clock.advance(60 * 60_000);
    expect((await it.state()).revoked_tokens).toEqual([]);
  });

  test('lists approvals that have expired after delivery, also those that nobody has ended yet', async () => {
    const it = await setUp();
    const { tokenId } = await it.approved('openssl');
    await it.deliver();
    it.clock.advance(APPROVAL_LIFETIME_MS - 1_000);
    expect((await it.state()).revoked_tokens).toEqual([]);
    it.clock.advance(1_000);
    expect((await it.state()).revoked_tokens).toEqual([tokenId]);
    it.clock.advance(60 * 60_000);
    expect((await it.state()).revoked_tokens).toEqual([]);
  });

  test('a newly minted approval is valid beside the withdrawn one', async () => {
    const it = await setUp();
    const first = await it.approved('openssl');
    await it.deliver();
    await it.reopen(first.id);
    it.clock.advance(1_000);
    expect((await it.approve(first.id)).status).toBe(200);
    await it.deliver();
    expect((await it.state()).revoked_tokens).toEqual([first.tokenId]);
  });

  test('beyond the limit it gives the time up to which no approval counts, and lists the newest', async () => {
    const it = await setUp();
    const { id, tokenId } = await it.approved('openssl');
    await it.deliver();
    await it.reopen(id);
    const { read } = it.database;
    const approval = await read.selectFrom('approvals').selectAll().executeTakeFirstOrThrow();
    const command = await read
      .selectFrom('agent_commands')
      .selectAll()
      .where('approval_id', '=', tokenId)
      .executeTakeFirstOrThrow();
    const older = Array.from({ length: REVOKED_TOKENS_MAX }, (_, i) => ({
      token_id: `01900000-0000-7000-8000-${String(i).padStart(12, '0')}`,
      issued_at: approval.issued_at - 1_000 * (i + 1),
    }));
    await it.database.transact(async (tx) => {
      await insertApprovals(
        tx,
        older.map((row) => ({ row: { ...approval, ...row }, updateIds: [] })),
      );
      const { seal: _, ...unsealed } = command;
      await insertCommands(
        tx,
        older.map(({ token_id }) => ({
          row: {
            ...{ ...unsealed, id: it.platform.newId(), changed_at: command.changed_at ?? null },
            ...{ approval_id: token_id, seq: null, envelope: null },
          },
          updateIds: [],
        })),
      );
    });
    const state = await it.state();
    expect(state.revoked_tokens).toHaveLength(REVOKED_TOKENS_MAX);
    expect(state.revoked_tokens[0]).toBe(tokenId);
    const last = older.at(-1);
    expect(state.revoked_tokens).not.toContain(last?.token_id);
    expect(state.approvals_after).toBe(`${new Date(last?.issued_at ?? 0).toISOString().slice(0, 19)}Z`);
  });
});
