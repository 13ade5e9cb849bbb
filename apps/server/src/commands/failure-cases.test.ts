import { CommandPayload, Envelope } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestKeyRing } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { cancelCommand, retryCommand } from './change-command.ts';
import { type Delivery, deliverCommands } from './deliver-commands.ts';
import { COMMAND_LIFETIME_MS, type NewCommand, queueCommand } from './queue-command.ts';
import { recordResult } from './record-result.ts';
import { deliveredVoidCommands, findCommand, listCommands } from './store.ts';

async function openScene(engine: TestEngine) {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const keyRing = createTestKeyRing();
  const { agentId } = await insertTestAgent(database, { n: 1 });
  const scene = {
    database,
    platform,
    keyRing,
    agentId,
    queue: (command: Partial<NewCommand> = {}) =>
      database.transact((tx) =>
        queueCommand(tx, platform, { agentId, action: 'scan', params: {}, createdBy: 'ada', ...command }),
      ),
    async deliver(delivery: Partial<Delivery> = {}) {
      const visit = { agentId, machineId: 'machine-1', received: [] };
      const texts = await database.transact((tx) =>
        deliverCommands(tx, platform, keyRing, { ...visit, ...delivery }),
      );
      return texts.map(payloadOf);
    },
    statusOf: async (id: string) => (await findCommand(database.read, id))?.status,
    cancel: (id: string) =>
      database.transact(async (tx) => {
        const command = await findCommand(tx, id);
        if (!command) throw new Error('no such command');
        return cancelCommand(tx, platform, { command, by: 'ada' });
      }),
    report: (commandId: string, status: 'running' | 'success' | 'failed' | 'refused' | 'interrupted') =>
      database.transact((tx) => recordResult(tx, platform, { agentId, commandId, result: { status } })),
    async install() {
      const expiresAtMs = platform.now() + 7 * COMMAND_LIFETIME_MS;
      const update = await insertTestUpdate(database, {
        ...{ agentId, n: 1, state: 'approved', expiresAtMs, keyRing },
      });
      return { ...update, id: await scene.queue({ ...update, action: 'install_update' }) };
    },
  };
  return scene;
}

type Scene = Awaited<ReturnType<typeof openScene>>;

/** The stages at which something happens to a command. */
const STAGES: Record<string, (scene: Scene, id: string) => Promise<unknown>> = {
  pending: async () => {},
  sent: (scene) => scene.deliver(),
  received: async (scene, id) => {
    await scene.deliver();
    await scene.deliver({ received: [id] });
  },
  running: async (scene, id) => {
    await scene.deliver();
    await scene.report(id, 'running');
  },
  success: async (scene, id) => {
    await scene.deliver();
    await scene.report(id, 'success');
  },
  interrupted: async (scene, id) => {
    await scene.deliver();
    await scene.report(id, 'interrupted');
  },
  expired: async (scene) => {
    scene.platform.clock.advance(COMMAND_LIFETIME_MS);
    await scene.deliver();
  },
};

describe.each(ENGINES)('failure cases of commands on $name', (engine) => {
  // At each stage: whether it is redelivered and can be cancelled, and the outcome of a result and a retry.
  test.each([
    ['pending', { again: true, cancel: 'cancelled', result: 'unknown', retry: 'refused' }],
    ['sent', { again: true, cancel: 'cancelled', result: 'recorded', retry: 'refused' }],
    ['received', { again: false, cancel: 'with_agent', result: 'recorded', retry: 'refused' }],
    ['running', { again: false, cancel: 'with_agent', result: 'recorded', retry: 'refused' }],
    ['success', { again: false, cancel: 'finished', result: 'finished', retry: 'refused' }],
    ['interrupted', { again: false, cancel: 'finished', result: 'finished', retry: 'queued' }],
    ['expired', { again: false, cancel: 'finished', result: 'finished', retry: 'queued' }],
  ])('R5: a command that is %s', async (stage, expected) => {
    async function at() {
      const scene = await openScene(engine);
      const id = await scene.queue();
      await STAGES[stage]?.(scene, id);
      expect(await scene.statusOf(id)).toBe(stage);
      return { ...scene, id };
    }
    const resent = await at();
    const delivered = (await resent.deliver()).map((payload) => payload.command_id);
    expect(delivered).toEqual(expected.again ? [resent.id] : []);

    const cancelled = await at();
    expect(await cancelled.cancel(cancelled.id)).toBe(expected.cancel);
    expect(await cancelled.statusOf(cancelled.id)).toBe(
      expected.cancel === 'cancelled' ? 'cancelled' : stage,
    );
    if (expected.cancel === 'cancelled') expect(await cancelled.deliver()).toEqual([]);

    const reported = await at();
    expect((await reported.report(reported.id, 'failed')).kind).toBe(expected.result);
    if (expected.result === 'recorded') {
      // A repeated result changes nothing: the second one is 409 command_finished.
      expect((await reported.report(reported.id, 'failed')).kind).toBe('finished');
    }

    const { database, platform, id } = await at();
    const retried = await database.transact(async (tx) => {
      const command = await findCommand(tx, id);
      if (!command) throw new Error('no such command');
      return retryCommand(tx, platform, { command, by: 'ada' });
    });
    expect(retried.kind).toBe(expected.retry);
    const rows = await listCommands(database.read, { filter: {}, scope: null, limit: 10, before: null });
    expect(rows.length).toBe(expected.retry === 'queued' ? 2 : 1);
  });

  test.each([
    ['received', 'success'],
    ['running', 'refused'],
  ] as const)(
    'a reboot that is %s is called off by the agent state, and its result decides',
    async (stage, end) => {
      const scene = await openScene(engine);
      const { agentId, database } = scene;
      const params = { boot_id: 'boot', warn_minutes: 5, cause: 'kernel update' };
      const id = await scene.queue({ action: 'reboot', params });
      await STAGES[stage]?.(scene, id);
      const listed = async () =>
        (await deliveredVoidCommands(database.read, { agentId, sinceMs: 0, limit: 10 })).map((row) => row.id);
      expect(await listed()).toEqual([]);
      expect([await scene.cancel(id), await scene.cancel(id)]).toEqual(['called_off', 'called_off']);
      expect(await findCommand(database.read, id)).toMatchObject({
        ...{ status: stage, reason: 'ada asked the host to call it off' },
      });
      expect(await listed()).toEqual([id]);
      expect((await scene.report(id, end)).kind).toBe('recorded');
      expect([await scene.statusOf(id), await scene.cancel(id)]).toEqual([end, 'finished']);
    },
  );

  test('seq rises strictly for an agent, whatever is concurrent and however often the server starts', async () => {
    const scene = await openScene(engine);
    const seen = new Map<string, number>();
    let highest = 0;
    for (let start = 0; start < 3; start++) {
      const machines = Array.from({ length: 8 }, () => 'machine-1');
      const rounds = await Promise.all(
        machines.map(async (machineId) => {
          await scene.queue();
          return scene.deliver({ machineId });
        }),
      );
      for (const round of rounds) {
        const seqs = round.map((payload) => payload.seq);
        expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
      }
      const all = await scene.deliver();
      for (const { command_id: id, seq } of all) {
        expect(seen.get(id) ?? seq).toBe(seq);
        if (!seen.has(id)) expect(seq).toBeGreaterThan(highest);
      }
      for (const { command_id: id, seq } of all) seen.set(id, seq);
      highest = Math.max(...seen.values());
    }
    expect(new Set(seen.values()).size).toBe(24);
  });

  test.each([
    ['the machine was rebound', (scene: Scene) => scene.deliver({ machineId: 'machine-2' })],
    [
      'the key was revoked',
      (scene: Scene) => {
        scene.keyRing.rotate();
        return scene.deliver();
      },
    ],
    [
      'the server was restored',
      (scene: Scene) => {
        scene.keyRing.restore();
        return scene.deliver();
      },
    ],
  ])('signed anew with a new seq where %s, and with the old bytes otherwise', async (_, change) => {
    const scene = await openScene(engine);
    await scene.queue();
    const [first] = await scene.deliver();
    expect(await scene.deliver()).toEqual([first]);
    const [second] = await change(scene);
    expect(second?.command_id).toBe(first?.command_id);
    expect([first?.seq, second?.seq]).toEqual([1, 2]);
  });

  test('T13: the command binds the digest of the approval', async () => {
    const scene = await openScene(engine);
    const { id, approval } = await scene.install();
    expect(await scene.deliver()).toMatchObject([
      { command_id: id, approval: { token_id: approval.tokenId, sha256: approval.sha256 } },
    ]);
  });

  test.each([
    ['voided', { voided_at: 1 }],
    ['expired', { expires_at: 1 }],
  ])('a sent install whose approval is %s is not delivered again', async (_, change) => {
    const scene = await openScene(engine);
    const { id } = await scene.install();
    await scene.deliver();
    await scene.database.transact((tx) => tx.updateTable('approvals').set(change).execute());
    expect(await scene.deliver()).toEqual([]);
    expect(await scene.statusOf(id)).toBe('cancelled');
  });
});

function payloadOf(text: string): CommandPayload {
  const { payload } = Value.Parse(Envelope, JSON.parse(text));
  return Value.Parse(CommandPayload, JSON.parse(Buffer.from(payload, 'base64').toString()));
}
