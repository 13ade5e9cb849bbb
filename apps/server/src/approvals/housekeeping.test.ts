import { describe, expect, test } from 'vitest';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { createListening, type Listening } from '../platform/listening.ts';
import { ENGINES } from '../testing/engines.ts';
import { createRolloutScene } from '../testing/rollout-scene.ts';
import { findUpdate } from '../updates/store.ts';
import { housekeepOnce } from './housekeeping.ts';
import { APPROVAL_LIFETIME_MS } from './mint-approval.ts';

const MINUTE_MS = 60_000;
const start = () => createListening(MINUTE_MS);

describe.each(ENGINES)('approvals that expire on $name', (engine) => {
  async function scene() {
    const it = await createRolloutScene(engine);
    const { read } = it.database;
    const looks = async (listening: Listening, count: number) => {
      for (let i = 0; i < count; i += 1) {
        it.minutes(1);
        await housekeepOnce(it.deps, listening);
      }
    };
    /** A host that was given an installation. */
    const given = async () => {
      const host = await it.host();
      await it.approve(host.updateId);
      expect(await it.visit(host)).toEqual(['install_update']);
      return host;
    };
    type Host = Awaited<ReturnType<typeof given>>;
    const commandOf = ({ agentId }: Host) =>
      read.selectFrom('agent_commands').selectAll().where('agent_id', '=', agentId).executeTakeFirstOrThrow();
    /** A check-in of a host that has stored its command. */
    const acknowledge = async ({ agentId, machineId, ...host }: Host) => {
      const { id } = await commandOf({ agentId, machineId, ...host });
      const visiting = { agentId, machineId, received: [id] };
      return it.database.transact((tx) => deliverCommands(tx, it.platform, it.keyRing, visiting));
    };
    const reasonOf = async ({ updateId }: Host) => (await findUpdate(read, updateId))?.state_reason;
    return { ...it, looks, given, commandOf, acknowledge, reasonOf };
  }

  test.each<[string, (before: Listening) => Listening]>([
    ['was down', start],
    ['stood still', (before) => before],
  ])('end once a server that %s has given their hosts the time to report', async (_, after) => {
    const it = await scene();
    const before = start();
    await it.looks(before, 1);
    const [quick, busy, dead] = [await it.given(), await it.given(), await it.given()];
    await it.looks(before, 1);
    it.clock.advance(APPROVAL_LIFETIME_MS);
    const listening = after(before);
    await it.looks(listening, 1);
    for (const host of [quick, busy, dead]) expect(await it.stateOf(host)).toBe('approved');
    await it.report(quick, 'success');
    expect(await it.stateOf(quick)).toBe('installed');
    await it.looks(listening, 1);
    expect(await it.acknowledge(busy), 'nothing goes out by an approval that has expired').toEqual([]);
    await it.looks(listening, 2);
    expect([await it.stateOf(dead), await it.reasonOf(dead)]).toEqual(['pending', 'approval_expired']);
    expect(await it.commandOf(dead)).toMatchObject({ status: 'cancelled', reason: 'approval_expired' });
    expect(await it.commandOf(quick)).toMatchObject({ status: 'success' });
    expect(await it.stateOf(busy)).toBe('approved');
    await it.report(busy, 'running');
    await it.looks(listening, 5);
    await it.report(busy, 'success');
    expect([await it.stateOf(quick), await it.stateOf(busy)]).toEqual(['installed', 'installed']);
    const tokens = await it.database.read.selectFrom('approvals').select('void_reason').execute();
    expect(tokens).toEqual(Array(3).fill({ void_reason: 'approval_expired' }));
  });

  test('end at once where the host says that it has not stored the command', async () => {
    const it = await scene();
    const host = await it.given();
    it.clock.advance(APPROVAL_LIFETIME_MS);
    const listening = start();
    await it.looks(listening, 1);
    expect(await it.visit(host)).toEqual([]);
    await it.looks(listening, 1);
    expect([await it.stateOf(host), await it.reasonOf(host)]).toEqual(['pending', 'approval_expired']);
  });

  test('give a host that fetched shortly before the end the time to report', async () => {
    const it = await scene();
    const host = await it.host();
    await it.approve(host.updateId);
    const listening = start();
    it.clock.advance(APPROVAL_LIFETIME_MS - 5 * MINUTE_MS);
    await it.looks(listening, 4);
    expect(await it.visit(host)).toEqual(['install_update']);
    await it.looks(listening, 2);
    await it.report(host, 'success');
    expect(await it.stateOf(host)).toBe('installed');
  });

  test('wait for nobody where their key was revoked', async () => {
    const it = await scene();
    const host = await it.given();
    await housekeepOnce({ ...it.deps, keyRing: { ...it.deps.keyRing, isActive: () => false } }, start());
    expect([await it.stateOf(host), await it.reasonOf(host)]).toEqual(['pending', 'signing_key_revoked']);
    expect(await it.commandOf(host)).toMatchObject({ status: 'cancelled' });
  });
});
