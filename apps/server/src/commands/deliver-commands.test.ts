import { createHash } from 'node:crypto';
import { CommandPayload, Envelope } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestKeyRing } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { type Delivery, deliverCommands } from './deliver-commands.ts';
import { COMMAND_LIFETIME_MS, type NewCommand, queueCommand } from './queue-command.ts';
import { findCommand, listCommands } from './store.ts';

describe.each(ENGINES)('delivering commands on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const keyRing = createTestKeyRing();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    async function queue(command: Partial<NewCommand> = {}) {
      const scan = { agentId, action: 'scan', params: {}, createdBy: 'ada' } as const;
      return database.transact((tx) => queueCommand(tx, platform, { ...scan, ...command }));
    }
    async function deliver(delivery: Partial<Delivery> = {}) {
      const visit = { agentId, machineId: 'machine-1', received: [] };
      const texts = await database.transact((tx) =>
        deliverCommands(tx, platform, keyRing, { ...visit, ...delivery }),
      );
      return texts.map((text) => ({ text, payload: payloadOf(text) }));
    }
    return { database, platform, keyRing, agentId, queue, deliver };
  }

  test('the payload has the members of docs/protocol/documents.md, for this agent and this machine', async () => {
    const { agentId, keyRing, queue, deliver } = await setUp();
    const id = await queue({ action: 'set_polling', params: { interval_seconds: 30 } });
    const [delivered] = await deliver();
    expect(delivered?.payload).toEqual({
      v: 1,
      fleet_id: keyRing.fleetId,
      epoch: 1,
      seq: 1,
      command_id: id,
      agent_id: agentId,
      machine_sha256: createHash('sha256').update('machine-1').digest('hex'),
      issued_at: '2026-11-21T09:00:00Z',
      not_before: '2026-11-21T09:00:00Z',
      expires_at: '2026-11-22T09:00:00Z',
      key_id: keyRing.signer().keyId,
      key_version: 1,
      action: 'set_polling',
      params: { interval_seconds: 30 },
      crit: [],
    });
  });

  test('redelivered with the same bytes until received, and never after', async () => {
    const { database, keyRing, queue, deliver } = await setUp();
    const id = await queue();
    const first = await deliver();
    expect(await deliver()).toEqual(first);
    expect(keyRing.signatures).toBe(1);
    expect(await deliver({ received: [id] })).toEqual([]);
    expect((await findCommand(database.read, id))?.status).toBe('received');
  });

  test('seq rises in the order of delivery, also if later commands arrive while earlier ones are out', async () => {
    const { queue, deliver } = await setUp();
    await queue();
    await queue();
    expect((await deliver()).map(({ payload }) => payload.seq)).toEqual([1, 2]);
    await queue();
    expect((await deliver()).map(({ payload }) => payload.seq)).toEqual([1, 2, 3]);
  });

  test('two concurrent check-ins give a command one seq', async () => {
    const { queue, deliver } = await setUp();
    await queue();
    const [one, two] = await Promise.all([deliver(), deliver()]);
    expect(one).toEqual(two);
  });

  test('withheld until its not_before, where its lifetime starts', async () => {
    const { platform, queue, deliver } = await setUp();
    const notBeforeMs = platform.now() + 3_600_000;
    await queue({ notBeforeMs });
    expect(await deliver()).toEqual([]);
    platform.clock.advance(3_600_000);
    const [delivered] = await deliver();
    expect(delivered?.payload).toMatchObject({
      seq: 1,
      not_before: '2026-11-21T10:00:00Z',
      expires_at: '2026-11-22T10:00:00Z',
    });
  });

  test.each([
    ['the key was revoked', 'rotate'],
    ['the epoch changed', 'restore'],
    ['the machine was rebound', 'rebind'],
  ] as const)('signed anew with a new seq when %s', async (_, change) => {
    const { keyRing, queue, deliver } = await setUp();
    const id = await queue();
    const [before] = await deliver();
    const machineId = change === 'rebind' ? 'machine-2' : 'machine-1';
    if (change !== 'rebind') keyRing[change]();
    const [after] = await deliver({ machineId });
    expect(after?.payload.command_id).toBe(id);
    expect([before?.payload.seq, after?.payload.seq]).toEqual([1, 2]);
    expect(after?.payload.machine_sha256).toBe(createHash('sha256').update(machineId).digest('hex'));
    expect(await deliver({ machineId })).toEqual([after]);
  });

  test('expired after 24 h; an install is issued anew while its approval is live, and not after', async () => {
    const { database, platform, keyRing, agentId, queue, deliver } = await setUp();
    const expiresAtMs = platform.now() + 1.5 * COMMAND_LIFETIME_MS;
    const of = { agentId, n: 1, state: 'approved', expiresAtMs, keyRing };
    const install = await insertTestUpdate(database, of);
    const scan = await queue();
    const first = await queue({ ...install, action: 'install_update' });
    expect((await deliver()).length).toBe(2);
    platform.clock.advance(COMMAND_LIFETIME_MS);
    const again = await deliver();
    expect(again.map(({ payload }) => [payload.action, payload.seq])).toEqual([['install_update', 3]]);
    expect(again[0]?.payload.approval).toEqual({
      token_id: install.approval.tokenId,
      sha256: install.approval.sha256,
    });
    expect((await findCommand(database.read, scan))?.status).toBe('expired');
    expect((await findCommand(database.read, first))?.status).toBe('expired');
    platform.clock.advance(COMMAND_LIFETIME_MS);
    expect(await deliver()).toEqual([]);
    const rows = await listCommands(database.read, { filter: {}, scope: null, limit: 10, before: null });
    expect(rows.map((row) => row.status)).toEqual(['expired', 'expired', 'expired']);
  });

  test.each(['pending', 'superseded'] as const)(
    'an install whose update is %s is cancelled instead of delivered',
    async (state) => {
      const { database, platform, agentId, queue, deliver } = await setUp();
      const expiresAtMs = platform.now() + 1_000_000;
      const install = await insertTestUpdate(database, { agentId, n: 1, state, expiresAtMs });
      const id = await queue({ ...install, action: 'install_update' });
      expect(await deliver()).toEqual([]);
      expect(await findCommand(database.read, id)).toMatchObject({
        status: 'cancelled',
        reason: 'approval_gone',
      });
    },
  );

  test('an outdated agent is given its own update and nothing else', async () => {
    const { database, platform, keyRing, agentId, queue, deliver } = await setUp();
    const expiresAtMs = platform.now() + COMMAND_LIFETIME_MS;
    const of = { agentId, n: 1, state: 'approved', expiresAtMs, keyRing };
    const update = await insertTestUpdate(database, of);
    await queue();
    const install = {
      ...update,
      params: { update_ids: [update.updateId] },
      action: 'install_update',
    } as const;
    const id = await queue(install);
    expect(await deliver({ ownUpdateOnly: true })).toEqual([]);
    await database.transact((tx) =>
      tx.updateTable('updates').set({ ecosystem: 'tidegate' }).where('id', '=', update.updateId).execute(),
    );
    const delivered = await deliver({ ownUpdateOnly: true });
    expect(delivered.map(({ payload }) => payload.command_id)).toEqual([id]);
  });

  test('receipts of the commands of another agent change nothing', async () => {
    const { database, queue, deliver } = await setUp();
    const other = await insertTestAgent(database, { n: 2 });
    const id = await queue();
    await deliver();
    await deliver({ agentId: other.agentId, machineId: 'machine-2', received: [id] });
    expect((await findCommand(database.read, id))?.status).toBe('sent');
  });

  test('unknown parameters of an action are refused when the command is queued', async () => {
    const { queue } = await setUp();
    await expect(queue({ params: { shell: 'rm' } })).rejects.toThrow('not valid');
  });
});

function payloadOf(text: string): CommandPayload {
  const { payload } = Value.Parse(Envelope, JSON.parse(text));
  return Value.Parse(CommandPayload, JSON.parse(Buffer.from(payload, 'base64').toString()));
}
