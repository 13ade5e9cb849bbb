import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { recordFirstSeen } from './record-first-seen.ts';
import { tidyFirstSeen } from './tidy-seen.ts';

const DAY_MS = 86_400_000;
type Ecosystem = 'apt' | 'pypi';

async function setUp(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database } = platform;
  const hosts = [await insertTestAgent(database, { n: 1 }), await insertTestAgent(database, { n: 2 })];
  const [first, second] = hosts.map(({ agentId }) => agentId);
  if (first === undefined || second === undefined) throw new Error('two hosts');
  return {
    ...{ platform, database, first, second, clock: platform.clock },
    note: (agentId: string, name: string, ecosystem: Ecosystem = 'apt') =>
      database.transact((tx) =>
        recordFirstSeen(tx, platform, {
          ...{ agentId, ecosystem, actions: [] },
          packages: [{ name, version: '1', arch: '' }],
        }),
      ),
    install: (agentId: string, name: string, ecosystem: Ecosystem = 'apt') =>
      database.transact((tx) =>
        insertInstalled(tx, {
          ...{ agent_id: agentId, ecosystem, name, version: '1', arch: '', held: 0 },
          ...{ source_name: null, source_version: null, origin: null },
        }),
      ),
    revoke: (agentId: string) =>
      database.transact((tx) =>
        tx.updateTable('agents').set({ status: 'revoked' }).where('id', '=', agentId).execute(),
      ),
    tidy: () => tidyFirstSeen(platform).run(() => false),
    async names() {
      const rows = await database.read.selectFrom('first_seen').select('name').orderBy('name').execute();
      return rows.map(({ name }) => name);
    },
  };
}

describe.each(ENGINES)('first sightings that no living host supports, on $name', (engine) => {
  test('are removed with the host that brought them, unless another one has the version', async () => {
    const it = await setUp(engine);
    for (const name of ['ours', 'invented', 'shared']) await it.note(it.first, name);
    for (const name of ['ours', 'shared']) await it.install(it.first, name);
    await it.install(it.second, 'shared');
    expect(await it.tidy()).toBe(0);
    await it.revoke(it.first);
    expect(await it.tidy()).toBe(2);
    expect(await it.names()).toEqual(['shared']);
  });

  test('stay for 90 days while a plan may bring them, and as long as a host has them', async () => {
    const it = await setUp(engine);
    await it.note(it.first, 'planned');
    await it.note(it.first, 'some-pkg', 'pypi');
    await it.install(it.first, 'some_pkg', 'pypi');
    it.clock.advance(89 * DAY_MS);
    expect(await it.tidy()).toBe(0);
    await jumpAhead(it.platform, 3 * DAY_MS);
    expect(await it.tidy()).toBe(0);
    await believeClock(it.platform);
    expect(await it.tidy()).toBe(1);
    expect(await it.names()).toEqual(['some-pkg']);
  });

  test('are examined page by page, in order', async () => {
    const it = await setUp(engine);
    await it.database.transact((tx) =>
      recordFirstSeen(tx, it.platform, {
        ...{ agentId: it.first, ecosystem: 'apt', actions: [] },
        packages: Array.from({ length: 1_000 }, (_, i) => ({ name: `p${i}`, version: '1', arch: '' })),
      }),
    );
    await it.install(it.second, 'p7');
    await it.revoke(it.first);
    expect(await it.tidy()).toBe(999);
    expect(await it.names()).toEqual(['p7']);
  });
});
