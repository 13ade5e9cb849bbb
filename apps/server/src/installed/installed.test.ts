import { CompiledQuery, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Database, Tx } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { changeInstalled } from '../testing/installed-rows.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { CHANGES_DAYS, CHANGES_MAX, changesBetween } from './changes-store.ts';
import { hostsWith } from './hosts-store.ts';
import { identityDigest, nameKey } from './identity.ts';
import { internPackages } from './identity-store.ts';
import { type PackageRecord, packagesNamed, storedPackages } from './store.ts';
import { tidyChanges, tidyIdentities } from './tidy-installed.ts';

const HOUR_MS = 3_600_000;

function packageOf(name: string, fields: Partial<PackageRecord> = {}): PackageRecord {
  const nothing = { source_name: null, source_version: null, origin: null };
  return { name, arch: 'amd64', version: '1', held: 0, ...nothing, ...fields };
}

test('what is hashed and keyed never changes: rows of older versions are found by it', () => {
  const curl = packageOf('curl', { source_name: 'curl-src', origin: 'Debian' });
  expect(identityDigest('apt', curl)).toBe('OMDdFTTt4u4Zvz9Mx0avjcwvW9nnalGXv8_1uWUMpkQ');
  expect([nameKey('npm', 'curl'), nameKey('apt', 'curl')]).toEqual([41831289, 310266745]);
});

test('SQLite finds each package that goes by its whole key, and reads no other of the host', async () => {
  const asked: string[] = [];
  const watch = { thresholdMs: 0, elapsedMs: () => 0, tell: ({ sql }: { sql: string }) => asked.push(sql) };
  const [sqlite] = ENGINES;
  const database = await sqlite?.open({ watch });
  if (!database) throw new Error('there is no engine');
  const { agentId } = await insertTestAgent(database, { n: 1 });
  const place = { agentId, ecosystem: 'apt', nowMs: 1 };
  await database.transact((tx) => changeInstalled(tx, place, { put: [packageOf('curl'), packageOf('sed')] }));
  await database.transact((tx) =>
    changeInstalled(tx, place, { gone: [packageOf('curl'), packageOf('sed')] }),
  );
  const [deletion = '', ...more] = asked.filter((sql) => sql.startsWith('DELETE FROM installed_packages'));
  expect(more).toEqual([]);
  const unbound = Array.from(deletion.matchAll(/\?/g), () => null);
  const { rows } = await database.read.executeQuery<{ detail: string }>(
    CompiledQuery.raw(`EXPLAIN QUERY PLAN ${deletion}`, unbound),
  );
  expect(rows.map(({ detail }) => detail)).toContain(
    'SEARCH installed_packages USING PRIMARY KEY (agent_number=? AND name_key=? AND package_id=?)',
  );
});

describe.each(ENGINES)('packages of hosts on $name', (engine) => {
  async function setUp(hosts = 1) {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const agentIds: string[] = [];
    for (let n = 1; n <= hosts; n++) agentIds.push((await insertTestAgent(database, { n })).agentId);
    const section = (host = 0) => ({ agentId: agentIds[host] ?? '', ecosystem: 'apt' });
    const write = (work: (tx: Tx) => Promise<void>) => database.transact(work);
    const put = (records: readonly PackageRecord[], host = 0) =>
      write((tx) => changeInstalled(tx, { ...section(host), nowMs: platform.now() }, { put: records }));
    const drop = (records: readonly PackageRecord[], host = 0) =>
      write((tx) => changeInstalled(tx, { ...section(host), nowMs: platform.now() }, { gone: records }));
    /** From now on changes are recorded, as after a first report. */
    const reported = (host = 0) =>
      write(async (tx) => {
        const at = { scanned_at: platform.now(), received_at: platform.now(), changes_since: platform.now() };
        const report = { agent_id: agentIds[host] ?? '', ecosystem: 'apt', digest: 'd', complete: 1 };
        await tx
          .insertInto('inventory_reports')
          .values({ ...report, ...at, package_count: 1 })
          .execute();
      });
    const stored = async (host = 0) => {
      const pages = await Array.fromAsync(storedPackages(database.read, section(host)));
      return pages.flat().toSorted((a, b) => (a.name < b.name ? -1 : 1));
    };
    const identities = () => database.read.selectFrom('package_identities').selectAll().execute();
    const changes = () =>
      database.read.selectFrom('inventory_changes').selectAll().orderBy('position').execute();
    const history = async () => {
      const all = await changesBetween(database.read, {
        ...section(),
        ...{ afterMs: 0, untilMs: platform.now() },
      });
      return all.map(({ position, change, name, version }) => `${position} ${change} ${name} ${version}`);
    };
    const tidy = () => tidyIdentities(platform).run(() => false);
    return {
      ...{ database, platform, agentIds, section, put, drop, reported, stored },
      ...{ identities, changes, history, tidy },
    };
  }

  test('a package takes the place of the one of its name, version and architecture, and of no other', async () => {
    const { put, drop, stored } = await setUp();
    const kept = [packageOf('curl', { arch: 'arm64' }), packageOf('curl', { version: '2' })];
    await put([packageOf('curl'), ...kept]);
    await put([packageOf('curl', { origin: 'Debian', held: 1 })]);
    expect(await stored()).toHaveLength(3);
    expect(await stored()).toContainEqual(
      expect.objectContaining({ origin: 'Debian', held: 1, version: '1' }),
    );
    // What it was said to come from does not matter for its removal.
    await drop([packageOf('curl')]);
    expect((await stored()).map(({ arch, version }) => [arch, version]).toSorted()).toEqual(
      kept.map(({ arch, version }) => [arch, version]).toSorted(),
    );
  });

  test('a new version is one row of the history that counts as two changes', async () => {
    const { database, platform, section, put, reported, stored, changes, history } = await setUp();
    await put([packageOf('curl'), packageOf('sed')]);
    await reported();
    const present = await packagesNamed(database.read, section(), ['curl', 'sed']);
    const edit = {
      gone: [packageOf('curl')],
      put: [packageOf('curl', { version: '2' }), packageOf('sed', { held: 1 })],
    };
    await database.transact((tx) => changeInstalled(tx, { ...section(), nowMs: platform.now() }, edit));
    expect((await stored()).map(({ name, version, held }) => [name, version, held])).toEqual([
      ['curl', '2', 0],
      ['sed', '1', 1],
    ]);
    // 1 added, 2 held.
    expect(
      (await changes()).map(({ position, change, held, replaced_id }) => [
        position,
        change,
        held,
        replaced_id,
      ]),
    ).toEqual([
      [2, 1, 0, present.find(({ name }) => name === 'curl')?.package_id],
      [3, 2, 1, null],
    ]);
    expect(await history()).toEqual(['1 removed curl 1', '2 added curl 2', '3 held sed 1']);
  });

  test('what is replaced is undone in the order in which it happened, whatever else changes under its name', async () => {
    const { database, platform, section, put, reported, history } = await setUp();
    const change = (edit: { gone?: PackageRecord[]; put?: PackageRecord[] }) =>
      database.transact((tx) => changeInstalled(tx, { ...section(), nowMs: platform.now() }, edit));
    await put([packageOf('linux'), packageOf('linux', { version: '2' }), packageOf('sed', { held: 1 })]);
    await reported();
    // One described anew, one gone, two come: the described one goes before it comes.
    await change({
      gone: [packageOf('linux', { version: '2' })],
      put: [packageOf('linux', { version: '3' }), packageOf('linux', { origin: 'Debian' })],
    });
    const described = (await history()).filter((line) => line.endsWith(' linux 1'));
    expect(described.map((line) => line.split(' ')[1])).toEqual(['removed', 'added']);
    expect((await history()).map((line) => line.slice(2)).toSorted()).toEqual([
      'added linux 1',
      'added linux 3',
      'removed linux 1',
      'removed linux 2',
    ]);
    // What was held is removed as held, and what takes its place is not.
    await change({ gone: [packageOf('sed', { held: 1 })], put: [packageOf('sed', { version: '2' })] });
    const all = await changesBetween(database.read, { ...section(), afterMs: 0, untilMs: platform.now() });
    expect(all.slice(4).map(({ change: kind, version, held }) => [kind, version, held])).toEqual([
      ['removed', '1', 1],
      ['added', '2', 0],
    ]);
    // One that goes and comes in one call is not taken for another's successor.
    await change({
      gone: [packageOf('linux'), packageOf('linux', { version: '3' })],
      put: [packageOf('linux'), packageOf('linux', { version: '4' })],
    });
    const again = (await history()).slice(6).filter((line) => line.endsWith(' linux 1'));
    expect(again.map((line) => line.split(' ')[1])).toEqual(['removed', 'added']);
  });

  test('a first report is stored in the order of its keys: PostgreSQL then fills the pages of the index', async () => {
    const { database, put } = await setUp();
    await put(Array.from({ length: 700 }, (_, n) => packageOf(`p${n}`)));
    const order = database.engine === 'sqlite' ? sql`name_key` : sql`ctid`;
    const { rows } = await sql<{ name_key: number }>`SELECT name_key FROM installed_packages
      ORDER BY ${order}`.execute(database.read);
    const keys = rows.map((row) => row.name_key);
    expect(keys).toHaveLength(700);
    expect(keys).toEqual(keys.toSorted((a, b) => a - b));
  });

  test('what two hosts say alike is one identity; what one says is never said of the other', async () => {
    const { put, stored, identities } = await setUp(2);
    await put([packageOf('curl', { origin: 'Debian', source_name: 'curl' })], 0);
    await put([packageOf('curl', { origin: 'Debian', source_name: 'curl' })], 1);
    expect(await identities()).toHaveLength(1);
    await put([packageOf('curl', { origin: 'Elsewhere', source_name: 'evil' })], 1);
    expect(await stored(0)).toMatchObject([{ origin: 'Debian', source_name: 'curl' }]);
    expect(await stored(1)).toMatchObject([{ origin: 'Elsewhere', source_name: 'evil' }]);
    await put([packageOf('curl', { origin: null, source_name: 'null' })], 1);
    expect(await stored(1)).toMatchObject([{ origin: null, source_name: 'null' }]);
  });

  test('reads page by page, and only its own ecosystem', async () => {
    const { database, section, put, stored } = await setUp();
    const many = Array.from({ length: 4_100 }, (_, n) => packageOf(`p${n}`));
    await put(many);
    const npm = { ...section(), ecosystem: 'npm' };
    await database.transact((tx) => changeInstalled(tx, { ...npm, nowMs: 1 }, { put: [packageOf('p1')] }));
    expect(await stored()).toHaveLength(4_100);
    expect(await Array.fromAsync(storedPackages(database.read, npm))).toHaveLength(1);
    expect(await packagesNamed(database.read, npm, ['p1', 'p2'])).toHaveLength(1);
    const versions = Array.from({ length: 4_100 }, (_, n) => packageOf('p7', { version: `2.${n}` }));
    await put(versions);
    const names = many.map(({ name }) => name);
    const found = (await packagesNamed(database.read, section(), names)).map(
      ({ name, version }) => `${name} ${version}`,
    );
    expect(found.toSorted()).toEqual(
      [...many, ...versions].map(({ name, version }) => `${name} ${version}`).toSorted(),
    );
  });

  test('two reports that bring the same new packages in opposite orders are both stored', async () => {
    const { put, stored, identities } = await setUp(4);
    const packages = Array.from({ length: 700 }, (_, n) => packageOf(`p${n}`));
    const orders = [packages, packages.toReversed(), packages, packages.toReversed()];
    await Promise.all(orders.map((order, host) => put(order, host)));
    for (const host of orders.keys()) expect(await stored(host)).toHaveLength(700);
    expect(await identities()).toHaveLength(700);
  });

  test('an identity is deleted an hour after nobody has it and no history names it', async () => {
    const { platform, put, drop, reported, identities, tidy } = await setUp();
    await put([packageOf('kept'), packageOf('first')]);
    await drop([packageOf('first')]);
    await reported();
    await put([packageOf('second')]);
    await drop([packageOf('second')]);
    expect(await tidy()).toBe(0);
    expect((await identities()).filter((row) => row.unused_since !== null).map(({ name }) => name)).toEqual([
      'first',
    ]);
    platform.clock.advance(HOUR_MS);
    expect(await tidy()).toBe(0);
    platform.clock.advance(1);
    expect(await tidy()).toBe(1);
    expect((await identities()).map(({ name }) => name).toSorted()).toEqual(['kept', 'second']);
  });

  test('an identity that the sweep has marked is back in use before a host refers to it', async () => {
    const { database, platform, put, drop, stored, identities, tidy } = await setUp();
    await put([packageOf('curl')]);
    await drop([packageOf('curl')]);
    await tidy();
    platform.clock.advance(2 * HOUR_MS);
    await put([packageOf('curl')]);
    expect(await identities()).toMatchObject([{ unused_since: null }]);
    expect(await tidy()).toBe(0);
    expect(await stored()).toHaveLength(1);
    // Marked again while a host has it, as by a sweep that did not see its transaction: it is used, and stays.
    await database.transact((tx) => tx.updateTable('package_identities').set({ unused_since: 1 }).execute());
    expect(await tidy()).toBe(0);
    expect(await stored()).toHaveLength(1);
  });

  test('a report that meets the sweep either keeps the identity or brings it anew', async () => {
    const { database, platform, put, drop, stored, tidy } = await setUp(2);
    const packages = Array.from({ length: 50 }, (_, n) => packageOf(`p${n}`));
    await put(packages);
    await drop(packages);
    await tidy();
    platform.clock.advance(2 * HOUR_MS);
    await Promise.all([tidy(), put(packages, 1)]);
    expect(await stored(1)).toHaveLength(50);
    expect(await countStray(database)).toBe(0);
  });

  test('changes are recorded from the first report on, and none where nothing changed', async () => {
    const { put, drop, reported, changes, platform } = await setUp();
    await put([packageOf('curl'), packageOf('vim')]);
    expect(await changes()).toEqual([]);
    await reported();
    platform.clock.advance(10);
    await put([packageOf('curl', { held: 1 }), packageOf('vim', { origin: 'Debian' }), packageOf('new')]);
    await put([packageOf('curl', { held: 1 })]);
    await drop([packageOf('new'), packageOf('was never there')]);
    const found = await changes();
    // Rows with what goes come first; one that is described anew takes its own place.
    expect(found.map(({ position, change, held }) => [position, change, held])).toEqual([
      [2, 1, 0],
      [3, 1, 0],
      [4, 2, 1],
      [5, 0, 0],
    ]);
    expect(found.map(({ replaced_id }) => replaced_id !== null)).toEqual([true, false, false, false]);
    expect(new Set(found.map((row) => row.changed_at))).toEqual(new Set([platform.now()]));
  });

  test(`a host has ${CHANGES_MAX} changes, and knows since when they are all`, async () => {
    const { database, platform, put, drop, reported, changes } = await setUp();
    const many = Array.from({ length: CHANGES_MAX / 2 }, (_, n) => packageOf(`p${n}`));
    await reported();
    const first = platform.now();
    platform.clock.advance(10);
    await put(many);
    platform.clock.advance(10);
    await drop(many);
    expect(await changes()).toHaveLength(CHANGES_MAX);
    const since = async () => {
      const row = database.read.selectFrom('inventory_reports').select('changes_since');
      return (await row.executeTakeFirstOrThrow()).changes_since;
    };
    expect(await since()).toBe(first);
    await put([packageOf('one more')]);
    expect(await changes()).toHaveLength(CHANGES_MAX);
    expect(await since()).toBe(first + 10);
  });

  test(`changes end after ${CHANGES_DAYS} days`, async () => {
    const { platform, put, reported, changes } = await setUp();
    await reported();
    await put([packageOf('old')]);
    platform.clock.advance(CHANGES_DAYS * 86_400_000);
    await put([packageOf('young')]);
    const tidy = tidyChanges(platform);
    expect(await tidy.run(() => false)).toBe(0);
    await jumpAhead(platform, 14 * 365 * 86_400_000);
    expect(await tidy.run(() => false)).toBe(0);
    platform.clock.advance(-14 * 365 * 86_400_000 + 1);
    await believeClock(platform);
    expect(await tidy.run(() => false)).toBe(1);
    expect(await changes()).toMatchObject([{ position: 2 }]);
    expect(await tidy.run(() => false)).toBe(0);
  });

  test.each([1, 40_000])(
    'hosts that have one of some packages, by id, page by page (%i installations)',
    async (rows) => {
      const { database, agentIds, put } = await setUp(5);
      for (const host of [0, 1, 3, 4]) {
        await put([packageOf('curl', { version: host < 2 ? '1' : '2' })], host);
      }
      await put([packageOf('other')], 2);
      // So many that no host is collected, of hosts that are not there.
      const [{ id = 0 } = {}] = await database.read
        .selectFrom('package_identities')
        .select('id')
        .where('name', '=', 'curl')
        .execute();
      const strays = Array.from({ length: rows }, (_, n) => ({
        agent_number: -1 - n,
        name_key: 0,
        package_id: id,
        held: 0,
      }));
      for (let i = 0; i < strays.length; i += 5_000) {
        await database.transact((tx) =>
          tx
            .insertInto('installed_packages')
            .values(strays.slice(i, i + 5_000))
            .execute(),
        );
      }
      await database.transact(async (tx) => {
        await tx
          .updateTable('agents')
          .set({ group_name: 'web' })
          .where('id', '=', agentIds[1] ?? '')
          .execute();
        await tx
          .updateTable('agents')
          .set({ status: 'revoked' })
          .where('id', '=', agentIds[4] ?? '')
          .execute();
      });
      const find = async (fields: Partial<Parameters<typeof hostsWith>[1]> = {}) => {
        const page = { ecosystem: 'apt', names: ['curl'], scope: null, after: '', limit: 10, ...fields };
        return (await hostsWith(database.read, page)).map(({ id: agentId }) => agentIds.indexOf(agentId));
      };
      expect(await find()).toEqual([0, 1, 3]);
      expect(await find({ limit: 1, after: agentIds[0] ?? '' })).toEqual([1]);
      expect(await find({ names: [] })).toEqual([]);
      expect(await find({ names: ['other', 'curl'] })).toEqual([0, 1, 2, 3]);
      expect(await find({ ecosystem: 'dnf' })).toEqual([]);
      expect(await find({ scope: ['web'] })).toEqual([1]);
    },
  );

  test('the numbers are in the order of the packages', async () => {
    const { database } = await setUp();
    const packages = ['b', 'a', 'b', 'c'].map((name) => packageOf(name));
    const ids = await database.transact((tx) => internPackages(tx, { ecosystem: 'apt', packages }));
    expect(ids[0]).toBe(ids[2]);
    expect(new Set(ids).size).toBe(3);
    const named = await database.read.selectFrom('package_identities').select(['id', 'name']).execute();
    expect(ids.map((id) => named.find((row) => row.id === id)?.name)).toEqual(['b', 'a', 'b', 'c']);
  });
});

/** Installations of an identity that is not there. */
async function countStray({ read }: Database): Promise<number> {
  const rows = await read
    .selectFrom('installed_packages as i')
    .leftJoin('package_identities as p', 'p.id', 'i.package_id')
    .select('i.package_id')
    .where('p.id', 'is', null)
    .execute();
  return rows.length;
}
