import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { longestTurn } from '../testing/longest-turn.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { listCandidates, setFix } from './candidates-store.ts';
import { offerFix } from './offer-fix.ts';
import { RECOMMENDED_HERE } from './offer-rules.ts';
import { recommendOffers, recommendVersions } from './recommend-offers.ts';
import { recordCandidates } from './record-candidates.ts';
import { newRow } from './record-scan.ts';
import { openVersionsOf, rivalsOf } from './rivals-store.ts';
import { insertUpdates } from './store.ts';

const ecosystem = 'npm';
const arch = '/srv/app';
/** Without turns it is 200 ms and more, in parts 10 to 30. */
const HELD_MAX_MS = 100;

// Any number of versions and packages costs a host nothing to make up.
describe.each(ENGINES)('npm packages that a host makes up, on $name', (engine) => {
  async function setUp() {
    let read = 0;
    const tell = ({ sql, rows }: { sql: string; rows: number | null }) => {
      if (/^select .* from "?updates"?\b|^SELECT o\./is.test(sql)) read += rows ?? 0;
    };
    const database = await engine.open({ watch: { thresholdMs: 0, elapsedMs: () => 0, tell } });
    const platform = createTestPlatform(database);
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const offer = (versions: readonly [name: string, version: string][]) =>
      database.transact((tx) =>
        insertUpdates(
          tx,
          versions.map(([name, version]) => {
            const update = { name, arch, current_version: '1.0.0', available_version: version };
            return newRow(platform, { agentId, ecosystem, update });
          }),
        ),
      );
    return { database, platform, agentId, offer, rowsRead: () => read };
  }

  test('the smallest fix of one reads the open versions of that one alone', async () => {
    const { database, platform, agentId, offer, rowsRead } = await setUp();
    await offer(Array.from({ length: 30 }, (_, n) => [`package-${n}`, '2.0.0']));
    const of = { agentId, ecosystem, name: 'package-7', arch, currentVersion: '1.0.0', versions: ['1.0.1'] };
    const before = rowsRead();
    await database.transact(async (tx) => {
      await offerFix(tx, platform, { of, fixVersion: '1.0.1' });
      await recommendVersions(tx, { of, maxChange: 'patch' });
    });
    expect(rowsRead() - before).toBe(1 + 2);
    expect(await recommended(database)).toContain('package-7 1.0.1');
  });

  test('of more than a hundred open versions of one those offered last are compared, and one of them is recommended', async () => {
    const { database, agentId, offer } = await setUp();
    const versions = [
      ...Array.from({ length: 50 }, (_, n) => 900 + n),
      ...Array.from({ length: 100 }, (_, n) => 100 + n),
    ];
    await offer([...versions.map((major): [string, string] => ['many', `${major}.0.0`]), ['one', '2.0.0']]);
    await database.transact((tx) => recommendOffers(tx, { agentId, ecosystem, maxChange: 'any' }));
    expect(await recommended(database)).toEqual(['many 199.0.0', 'one 2.0.0']);
  });

  test('versions that take long to compare do not keep others waiting', async () => {
    const { database, agentId, offer } = await setUp();
    const long = 'a.'.repeat(115);
    await offer(
      Array.from({ length: 2_000 }, (_, n) => [`package-${n % 20}`, `2.0.0-${long}${(n * 7_919) % 2_000}`]),
    );
    const recommend = () =>
      database.transact((tx) => recommendOffers(tx, { agentId, ecosystem, maxChange: 'any' }));
    // The first time it writes, which lets others run anyway.
    await recommend();
    expect(await longestTurn(recommend)).toBeLessThan(HELD_MAX_MS);
  });

  test('all of one that are approved together are read once, not once for each other', async () => {
    const { database, offer, rowsRead } = await setUp();
    await offer(Array.from({ length: 60 }, (_, n) => ['many', `2.${n}.0`]));
    await offer([['other', '2.0.0']]);
    const all = await database.read.selectFrom('updates').select('id').orderBy('id').execute();
    const ids = all.map(({ id }) => id);
    const [taken = '', other = ''] = [ids[7], ids.at(-1)];
    await database.transact((tx) =>
      tx.updateTable('updates').set({ state: 'approved' }).where('id', '=', taken).execute(),
    );
    const before = rowsRead();
    const rivals = await rivalsOf(database.read, ids);
    expect(rowsRead() - before).toBe(1 + ids.length);
    expect(new Set(rivals.keys())).toEqual(new Set(ids.filter((id) => id !== taken && id !== other)));
    expect(rivals.get(ids[0] ?? '')).toMatchObject({ updateId: taken, version: '2.7.0', state: 'approved' });
    expect((await openVersionsOf(database.read, ids.slice(0, 30))).toSorted()).toEqual(ids.slice(0, 60));
    expect(rowsRead() - before).toBe(1 + ids.length + 60);
    expect(await rivalsOf(database.read, [other])).toEqual(new Map());
  });

  test('an incomplete report adds no candidates beyond what is kept; a complete one replaces all', async () => {
    const { database, agentId } = await setUp();
    const record = (names: readonly string[], { complete = false, candidates = ['1.0.1'] } = {}) => {
      const updates: InventoryUpdate[] = names.map((name) => ({
        ...{ name, arch, current_version: '1.0.0', available_version: '2.0.0', candidates },
      }));
      return database.transact((tx) =>
        recordCandidates(tx, { agentId, ecosystem, report: { complete, updates }, keptMax: 3 }),
      );
    };
    const kept = async () => {
      const all = await listCandidates(database.read, { after: null, limit: 99, onlyNew: false });
      return all.map((one) => `${one.name} ${one.versions.join(' ')}${one.isChecked ? ' checked' : ''}`);
    };
    await record(['a', 'b']);
    await record(['c', 'd', 'e']);
    expect(await kept()).toEqual(['a 1.0.1', 'b 1.0.1', 'c 1.0.1']);
    const [of] = await listCandidates(database.read, { after: null, limit: 1, onlyNew: true });
    if (!of) throw new Error('nothing is kept');
    await database.transact((tx) => setFix(tx, { of, fixVersion: null, nowMs: 5 }));
    // What is the same stays looked up; what has changed is looked up again.
    await record(['a']);
    await record(['b', 'f'], { candidates: ['1.0.2'] });
    expect(await kept()).toEqual(['a 1.0.1 checked', 'b 1.0.2', 'c 1.0.1']);
    await record(['a', 'd', 'e', 'f'], { complete: true });
    expect(await kept()).toEqual(['a 1.0.1 checked', 'd 1.0.1', 'e 1.0.1', 'f 1.0.1']);
  });
});

async function recommended(database: Database): Promise<string[]> {
  const rows = await database.read
    .selectFrom('updates')
    .select(['name', 'available_version', 'recommended'])
    .orderBy('name')
    .execute();
  const here = rows.filter(({ recommended: bits }) => (bits & RECOMMENDED_HERE) !== 0);
  return here.map(({ name, available_version: version }) => `${name} ${version}`);
}
