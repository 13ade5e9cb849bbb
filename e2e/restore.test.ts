import { join } from 'node:path';
import { nullable } from '@tidegate/protocol/scalars';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TestEngine } from '../apps/server/src/testing/engines.ts';
import { type Host, must } from './harness/host.ts';
import { expectAnswer, logIn, type Operator } from './harness/operator.ts';
import { runCommands } from './harness/runbook.ts';
import { startServer, TIDEGATE } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';
import { NEW, STORY, TRACE } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();

/** A world whose data `tidegate` commands can work on. */
async function createScene(engine: TestEngine) {
  const place = await engine.place();
  const env = {
    SERVICE_DATA_DIR: place.dataDir,
    ...(place.databaseUrl === null ? {} : { SERVICE_DATABASE_URL: place.databaseUrl }),
  };
  const world = await createWorld(engine, env);
  const host = await world.enrolled({ packages: [STORY] });
  const backup = join(place.dataDir, 'story.backup');

  async function tidegate(words: string, settings: Record<string, string> = env): Promise<void> {
    const run = await runCommands(`${TIDEGATE} ${words}`, {
      env: { PATH: SYSTEM_PATH, ...settings },
      cwd: '/',
    });
    if (run.code !== 0) throw new Error(`tidegate ${words}: ${run.stdout}\n${run.stderr}`);
  }

  return {
    world,
    host,
    backUp: () => tidegate(`backup --to "${backup}"`),
    async restore(): Promise<Operator> {
      await world.server.stop();
      const databaseUrl = place.databaseUrl === null ? null : (await engine.place()).databaseUrl;
      const settings = databaseUrl === null ? env : { ...env, SERVICE_DATABASE_URL: databaseUrl };
      await tidegate(`restore "${backup}" --resync-hours 1`, settings);
      await world.server.restart(settings);
      return logIn(world.server.url);
    },
  };
}

async function demoOf(operator: Operator) {
  const [update] = await operator.updates({ name: 'demo' });
  if (!update) throw new Error('the update is not there');
  return update;
}

const Commands = Type.Object({
  items: Type.Array(
    Type.Object({
      status: Type.String(),
      started_at: nullable(Type.String()),
      finished_at: nullable(Type.String()),
    }),
  ),
});

const Epoch = Type.Object({ epoch: Type.Integer() });

/** The commands of a kind, oldest first. */
async function commandsOf(operator: Operator, host: Host, action: string) {
  const path = `/api/v1/commands?agent_id=${host.agentId()}&action=${action}`;
  const { items } = expectAnswer(await operator.call('GET', path), 200, Commands);
  return items.reverse().map(({ status, started_at, finished_at }) => ({ status, started_at, finished_at }));
}

/** Each maintainer script ran once, and the new versions are installed. */
async function expectInstalledOnce(host: Host): Promise<void> {
  expect(await host.installed()).toEqual(NEW);
  expect((await host.trace(TRACE)).map((line) => line.split(' ')[0]).sort()).toEqual(['demo', 'libdemo']);
}

async function someRounds(host: Host): Promise<void> {
  for (let i = 0; i < 3; i++) must(await host.runOnce());
}

describe.skipIf(missing !== null).each(storyEngines('postgres'))(
  'T20: an install on both sides of a restore on $name',
  (engine) => {
    test('a backup from before the approval: the server learns that it is installed, and nothing is installed twice', async () => {
      const { world, host, backUp, restore } = await createScene(engine);
      await backUp();
      await world.operator.approved((await demoOf(world.operator)).id);
      must(await host.runOnce());
      expect((await demoOf(world.operator)).state).toBe('installed');

      const operator = await restore();
      expect((await demoOf(operator)).state).toBe('pending');
      await someRounds(host);
      expect(await demoOf(operator)).toMatchObject({ state: 'installed' });
      expect(await commandsOf(operator, host, 'install_update')).toEqual([]);
      await expectInstalledOnce(host);
    });

    test('a backup from after the approval: nothing runs again, and the agent reports the earlier result', async () => {
      const { world, host, backUp, restore } = await createScene(engine);
      await world.operator.approved((await demoOf(world.operator)).id);
      await queueScan(world.operator, host);
      await backUp();
      must(await host.runOnce());
      const [done] = await commandsOf(world.operator, host, 'scan');
      expect(done?.status).toBe('success');

      const operator = await restore();
      expect(await commandsOf(operator, host, 'scan')).toMatchObject([{ status: 'pending' }]);
      expect(await commandsOf(operator, host, 'install_update')).toMatchObject([{ status: 'pending' }]);
      await someRounds(host);
      // The result of the first run, not of another one.
      expect(await commandsOf(operator, host, 'scan')).toEqual([done]);
      expect((await demoOf(operator)).state).toBe('installed');
      const [install, ...more] = await commandsOf(operator, host, 'install_update');
      expect([install?.finished_at === null, more]).toEqual([false, []]);
      await expectInstalledOnce(host);

      // `seq` starts again in the new epoch: new commands are accepted.
      await queueScan(operator, host);
      must(await host.runOnce());
      expect((await commandsOf(operator, host, 'scan')).map(({ status }) => status)).toEqual([
        'success',
        'success',
      ]);
    });
  },
);

test.each(storyEngines('postgres'))(
  'kill -9 is not a restore: the epoch stays the same ($name)',
  async (engine) => {
    const place = await engine.place();
    const env = { SERVICE_ADVISORY_SOURCE: 'off' };
    const server = await startServer({ ...place, advisoryUrl: 'http://127.0.0.1:9', env });
    onTestFinished(async () => void (await server.stop()));
    const operator = await logIn(server.url);
    for (let i = 0; i < 3; i++) {
      await operator.addKey();
      await server.kill();
      await server.restart();
    }
    expect(await operator.events({ type: 'RESTORE_DETECTED' })).toEqual([]);
    expect(expectAnswer(await operator.call('GET', '/api/v1/admin/resync'), 200, Epoch).epoch).toBe(1);
  },
);

async function queueScan(operator: Operator, host: Host): Promise<void> {
  const queued = await operator.call('POST', `/api/v1/agents/${host.agentId()}/scan`, {});
  expect(queued.status, JSON.stringify(queued.body)).toBe(202);
}
