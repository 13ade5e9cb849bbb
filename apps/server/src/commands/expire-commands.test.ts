import { describe, expect, test } from 'vitest';
import { keepRetentionClock } from '../platform/retention/retention-clock.ts';
import { ENGINES } from '../testing/engines.ts';
import { CANARY_THEN_REST } from '../testing/rollout-rings.ts';
import { createRolloutScene } from '../testing/rollout-scene.ts';
import { createExpiryLooks } from './expire-commands.ts';
import { queueCommand } from './queue-command.ts';
import { findCommand } from './store.ts';

const HOUR_MINUTES = 60;
const EVERY_MS = 60_000;

describe.each(ENGINES)('the expiry of commands on $name', (engine) => {
  async function scene() {
    const it = await createRolloutScene(engine);
    const installs = async () => {
      const rows = it.database.read.selectFrom('agent_commands').selectAll();
      return (await rows.where('action', '=', 'install_update').orderBy('id').execute()).map(
        ({ agent_id, status, approval_id: token }) => ({ agent_id, status, token }),
      );
    };
    const statusesOf = async ({ agentId }: { agentId: string }) =>
      (await installs()).filter((row) => row.agent_id === agentId).map(({ status }) => status);
    /** Of a server that has just started. */
    const start = () => createExpiryLooks(it.platform, { everyMs: EVERY_MS });
    /** So many looks, the first of them now, a minute apart. */
    const look = async (looks: ReturnType<typeof start>, count: number) => {
      for (let i = 0; i < count; i += 1) {
        if (i > 0) it.minutes(1);
        await looks.next();
      }
    };
    return { ...it, installs, statusesOf, start, look };
  }

  test('issues an installation that no host has fetched again while its approval is valid', async () => {
    const it = await scene();
    const host = await it.host();
    await it.approve(host.updateId);
    it.minutes(25 * HOUR_MINUTES);
    await it.start().next();
    const commands = await it.installs();
    expect(commands.map(({ status }) => status)).toEqual(['expired', 'pending']);
    expect(new Set(commands.map(({ token }) => token)).size).toBe(1);
    expect(await it.stateOf(host)).toBe('approved');
  });

  test('ends what a clock that was ahead has queued once it is set back, and issues anew what was approved before', async () => {
    const it = await scene();
    const [before, ahead] = [await it.host(), await it.host()];
    await keepRetentionClock(it.platform);
    await it.approve(before.updateId);
    it.minutes(3 * 24 * HOUR_MINUTES);
    await it.start().next();
    await it.approve(ahead.updateId);
    const scan = { agentId: ahead.agentId, action: 'scan', params: {}, createdBy: 'ada' } as const;
    const scanId = await it.database.transact((tx) => queueCommand(tx, it.platform, scan));
    expect(await it.statusesOf(before)).toEqual(['expired', 'pending']);
    const statuses = async () => [await it.statusesOf(before), await it.statusesOf(ahead)];
    it.minutes(-3 * 24 * HOUR_MINUTES);
    await it.start().next();
    expect(await statuses()).toEqual([['expired', 'expired', 'pending'], ['expired']]);
    expect(await findCommand(it.database.read, scanId)).toMatchObject({ status: 'expired' });
    await it.visit(before);
    await it.start().next();
    expect(await statuses()).toEqual([['expired', 'expired', 'sent'], ['expired']]);
  });

  test('ends nothing that was queued before the clock was set to years ago', async () => {
    const it = await scene();
    const host = await it.host();
    await keepRetentionClock(it.platform);
    await it.approve(host.updateId);
    it.minutes(-3 * 365 * 24 * HOUR_MINUTES);
    for (let i = 0; i < 2; i++) {
      await it.start().next();
      expect(await it.statusesOf(host)).toEqual(['pending']);
      await keepRetentionClock(it.platform);
    }
  });

  test.each([
    ['was down', (it: Awaited<ReturnType<typeof scene>>) => it.start()],
    ['stood still', (_: unknown, before: ReturnType<typeof createExpiryLooks>) => before],
  ])('gives hosts of a server that %s the time to report what they were given', async (_, after) => {
    const it = await scene();
    const [canary, dead] = [await it.host('canary'), await it.host('canary')];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    const before = it.start();
    await it.look(before, 5);
    for (const host of [canary, dead]) await it.visit(host);
    await it.look(before, 2);
    it.minutes(25 * HOUR_MINUTES);
    const looks = after(it, before);
    await it.look(looks, 6);
    expect([await it.statusesOf(canary), await it.statusesOf(dead)]).toEqual([['sent'], ['sent']]);
    await it.report(canary, 'success');
    expect(await it.stateOf(canary)).toBe('installed');
    it.minutes(1);
    await it.look(looks, 1);
    expect([await it.statusesOf(canary), await it.statusesOf(dead)]).toEqual([
      ['success'],
      ['expired', 'pending'],
    ]);
  });

  test('gives a host that fetched a command shortly before its end the time to report it', async () => {
    const it = await scene();
    const [quick, slow] = [await it.host(), await it.host()];
    for (const host of [quick, slow]) await it.approve(host.updateId);
    it.minutes(24 * HOUR_MINUTES - 5);
    const looks = it.start();
    await it.look(looks, 5);
    for (const host of [quick, slow]) await it.visit(host);
    it.minutes(1);
    await it.look(looks, 2);
    await it.report(quick, 'success');
    it.minutes(1);
    await it.look(looks, 1);
    expect([await it.statusesOf(quick), await it.statusesOf(slow)]).toEqual([
      ['success'],
      ['expired', 'pending'],
    ]);
  });
});
