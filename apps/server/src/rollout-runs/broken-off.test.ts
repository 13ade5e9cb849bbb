import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { DatabaseFault } from '../platform/db/engine.ts';
import { createRefused } from '../policy-runs/refused.ts';
import { ENGINES } from '../testing/engines.ts';
import { LISTENS } from '../testing/listens.ts';
import { REST, ringOf } from '../testing/rollout-rings.ts';
import { createRolloutScene } from '../testing/rollout-scene.ts';
import { runRolloutsOnce } from './run-rollouts.ts';

/** How a process ends at a transaction: before it is kept, or after, so that nobody hears of it. */
interface Fault {
  left: number;
  when: 'before' | 'after';
}

function ending(database: Database, fault: Fault): Database {
  return {
    ...database,
    async transact(work) {
      fault.left -= 1;
      const isNow = fault.left === 0;
      const result = await database.transact(async (tx) => {
        const done = await work(tx);
        if (isNow && fault.when === 'before') throw new DatabaseFault('the process has ended');
        return done;
      });
      if (isNow) throw new DatabaseFault('the process has ended');
      return result;
    },
  };
}

const RINGS = [ringOf('canary'), ringOf('early'), REST];

describe.each(ENGINES)('a rollout on $name', (engine) => {
  /** Two rollouts from their start to their end; the worker ends at one transaction and is started again. */
  async function runWith(fault: Fault) {
    const it = await createRolloutScene(engine);
    const dying = { ...it.deps, platform: { ...it.platform, database: ending(it.database, fault) } };
    const hosts = [
      ...[await it.host('canary'), await it.host('canary'), await it.host('early')],
      ...[await it.host(), await it.host()],
    ];
    await it.publish(RINGS);
    let broken = 0;
    const pass = async () => {
      try {
        await runRolloutsOnce(dying, { refused: createRefused(), listening: LISTENS });
      } catch (error) {
        if (!(error instanceof DatabaseFault)) throw error;
        broken += 1;
      }
    };
    for (let round = 0; round < 20; round += 1) {
      if (round === 10) for (const { agentId } of hosts) await it.offerTo(agentId, { version: '3.0.13-1' });
      await pass();
      for (const host of hosts)
        if ((await it.visit(host)).includes('install_update')) await it.report(host, 'success');
    }
    const rollouts = await it.rollouts();
    const commands = await it.database.read
      .selectFrom('agent_commands')
      .select(['agent_id', 'status'])
      .where('action', '=', 'install_update')
      .execute();
    const events = await it.eventsOf('rollout_ring_entered');
    return { broken, rollouts, commands, events, hosts, left: fault.left };
  }

  // On PostgreSQL each takes a second: fewer of them outside of the long lane.
  const step = process.env.TIDEGATE_LONG === '1' ? 1 : engine.name === 'sqlite' ? 5 : 13;
  const moments = Array.from({ length: 25 }, (_, i) => i + 1)
    .flatMap((left) => [{ left, when: 'before' } as const, { left, when: 'after' } as const])
    .filter((_, i) => i % step === 0);

  test(`runs once on every host, wherever its worker was broken off (${moments.length} moments)`, async () => {
    let broken = 0;
    for (const moment of moments) {
      const found = await runWith({ ...moment });
      broken += found.broken;
      const about = JSON.stringify(moment);
      expect(found.rollouts, about).toMatchObject([
        { state: 'finished', outcomes: { installed: 5 } },
        { state: 'finished', outcomes: { installed: 5 } },
      ]);
      expect(found.commands, about).toHaveLength(2 * found.hosts.length);
      expect(new Set(found.commands.map(({ agent_id: id }) => id)).size, about).toBe(found.hosts.length);
      expect(found.events, about).toHaveLength(2 * (RINGS.length - 1));
    }
    // Each moment lies in the rollout.
    expect(broken).toBe(moments.length);
  });

  test('is the same when two servers run it at once', async () => {
    const it = await createRolloutScene(engine);
    const hosts = [await it.host('canary'), await it.host('early'), await it.host(), await it.host()];
    await it.publish(RINGS);
    const servers = [createRefused(), createRefused()];
    for (let round = 0; round < 8; round += 1) {
      await Promise.all(servers.map((refused) => runRolloutsOnce(it.deps, { refused, listening: LISTENS })));
      for (const host of hosts)
        if ((await it.visit(host)).includes('install_update')) await it.report(host, 'success');
    }
    expect(await it.rollouts()).toMatchObject([{ state: 'finished', outcomes: { installed: 4 } }]);
    expect(await it.eventsOf('rollout_started')).toHaveLength(1);
    expect(await it.eventsOf('rollout_ring_entered')).toHaveLength(2);
    expect(await it.eventsOf('update_approved')).toHaveLength(4);
  });
});
