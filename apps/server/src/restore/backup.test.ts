import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS } from '../migrations.ts';
import { openDatabase } from '../platform/db/open.ts';
import { openSnapshot } from '../platform/db/snapshot.ts';
import { backUp, restore } from '../testing/backups.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createHousehold, enrolHost, type Household } from '../testing/restored-server.ts';
import { SUMMED } from '../updates/package-store.ts';
import { verifyBackup } from './read-backup.ts';
import { tablesOf } from './table-store.ts';
import { writeBackup } from './write-backup.ts';

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('SQLite is always there');
const onSqlite = sqlite;
const NO_KEYS = { key: null, identities: [], acceptUnverified: false };
/** Every way from one engine to another. */
const WAYS = ENGINES.flatMap((from) =>
  ENGINES.map((to) => ({ from, to, way: `${from.name} to ${to.name}` })),
);

/** Every row of every table, except those that a restore changes. */
async function contentsOf(home: Household): Promise<Record<string, unknown>> {
  const snapshot = await openSnapshot(home.config);
  const contents: Record<string, unknown> = {};
  try {
    const present = await snapshot.tables();
    for (const table of tablesOf(MIGRATIONS).filter((name) => present.has(name))) {
      if (['fleet_marks', 'server_instances', 'operator_sessions'].includes(table)) continue;
      const all: unknown[] = [];
      for await (const { columns, rows } of snapshot.read(table)) {
        for (const row of rows) all.push(Object.fromEntries(columns.map((column, i) => [column, row[i]])));
      }
      contents[table] = all;
    }
    return contents;
  } finally {
    await snapshot.close();
  }
}

describe.each(ENGINES)('a backup on $name', (engine) => {
  test('names every table that the migrations have made', async () => {
    const database = await engine.open();
    const tables = (await database.read.introspection.getTables()).filter(({ isView }) => !isView);
    const known = new Set([...tablesOf(MIGRATIONS), 'schema_migrations']);
    expect(tables.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
  });

  test('is a snapshot of one moment, whatever is written meanwhile', async () => {
    const home = await createHousehold(engine);
    const server = await home.start();
    await enrolHost(server, 'machine-1');
    const snapshot = await openSnapshot(home.config);
    const before = await countRows(snapshot, 'agents');
    await enrolHost(server, 'machine-2');
    const { dataDir } = home.config;
    const to = join(dataDir, 'moment.backup');
    const job = {
      dataDir,
      to,
      withKeys: false,
      key: Buffer.alloc(32),
      recipients: [],
      migrations: MIGRATIONS,
      nowMs: home.clock.now(),
      onTable: () => {},
    };
    const outcome = await writeBackup(snapshot, job);
    await snapshot.close();
    expect(before).toBe(1);
    expect(outcome).toMatchObject({ ok: true, manifest: { tables: { agents: 1, refresh_families: 1 } } });
    // No table has later rows: the events end at the header's position.
    if (outcome.ok) expect(outcome.manifest.tables.events).toBe(outcome.manifest.events.position);
  });

  test('contains private keys and the token secret only on request, and is readable by its owner only', async () => {
    const home = await createHousehold(engine);
    await (await home.start()).stop();
    const { dataDir } = home.config;
    const secret = readFileSync(join(dataDir, 'jwt-secret'), 'utf8').trim();
    const [key = ''] = readdirSync(join(dataDir, 'keys'));
    const privateKey = readFileSync(join(dataDir, 'keys', key), 'utf8').trim();
    const bare = await backUp(home);
    const full = await backUp(home, { withKeys: true, name: 'full.backup' });
    const textOf = (path: string) => gunzipSync(readFileSync(path)).toString();
    expect(textOf(bare.to)).not.toContain(secret);
    expect(textOf(bare.to)).not.toContain(privateKey);
    expect([textOf(full.to).includes(secret), textOf(full.to).includes(privateKey)]).toEqual([true, true]);
    expect([bare.manifest.with_keys, full.manifest.with_keys, full.manifest.files]).toEqual([false, true, 2]);
    for (const path of [bare.to, full.to, String(bare.journal)]) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    expect(readdirSync(dataDir).filter((name) => name.includes('partial'))).toEqual([]);
  });
});

async function countRows(snapshot: Awaited<ReturnType<typeof openSnapshot>>, table: string): Promise<number> {
  let count = 0;
  for await (const { rows } of snapshot.read(table)) count += rows.length;
  return count;
}

describe.each(WAYS)('a restore from $way', ({ from, to }: { from: TestEngine; to: TestEngine }) => {
  test('restores every row, begins a new epoch and lets the hosts continue', async () => {
    const home = await createHousehold(from, { jwtSecret: 'x'.repeat(40) });
    const first = await home.start();
    const host = await enrolHost(first, 'machine-1');
    // A server that runs may write between the backup and the comparison.
    await first.stop();
    const made = await backUp(home, { withKeys: true });
    const before = await contentsOf(home);

    const target = await createHousehold(to, { jwtSecret: 'x'.repeat(40) });
    target.clock.advance(3_600_000);
    expect(await restore(target, made.to)).toMatchObject({ ok: true, aside: null, secrets: { kept: [] } });
    expect(await contentsOf(target)).toEqual(before);
    const second = await target.start();
    const token = await second.admin();
    const state = await second.call('GET', '/api/v1/admin/resync', { token });
    expect(state.body).toMatchObject({
      epoch: 2,
      restored: { details: { sign: 'restore_command', backup_created_at: made.manifest.created_at } },
    });
    expect(await host.renew(second)).toBe(200);
    await second.stop();
    // The log is append-only again.
    const database = openDatabase(target.config, databaseOptions());
    const wipe = database.transact((tx) => sql`DELETE FROM events`.execute(tx));
    await expect(wipe).rejects.toThrow('append-only');
    await database.close();
  });

  test('folds the differences that the server had not folded yet', async () => {
    const home = await createHousehold(from, { jwtSecret: 'x'.repeat(40) });
    await (await home.start()).stop();
    const database = openDatabase(home.config, databaseOptions());
    const row = (table: string, count: number) => sql`INSERT INTO ${sql.table(table)}
      (ecosystem, name, version, ${sql.join(SUMMED.map((column) => sql.ref(column)))})
      VALUES ('apt', 'curl', '1', ${sql.join(SUMMED.map(() => sql.lit(count)))})`;
    await database.transact(async (tx) => {
      await row('package_sums', 5).execute(tx);
      for (const count of [2, -1]) await row('package_deltas', count).execute(tx);
    });
    await database.close();
    const made = await backUp(home);
    const target = await createHousehold(to, { jwtSecret: 'x'.repeat(40) });
    expect(await restore(target, made.to)).toMatchObject({ ok: true });
    const { package_sums: sums, package_deltas: left } = await contentsOf(target);
    expect([sums, left]).toMatchObject([[{ name: 'curl', updates: 6, hosts: 6, pending: 6 }], []]);
  });
});

describe('a restore', () => {
  test('keeps the previous database, and refuses while a server runs', async () => {
    const home = await createHousehold(onSqlite);
    const { dataDir } = home.config;
    const first = await home.start();
    const made = await backUp(home);
    const late = await enrolHost(first, 'machine-1');
    expect(await restore(home, made.to)).toEqual({
      ok: false,
      fault: expect.stringMatching(/a server is running/),
    });
    await first.stop();
    const outcome = await restore(home, made.to);
    const aside = outcome.ok ? outcome.aside : null;
    expect(aside).toMatch(/tidegate\.db\.before-restore-\d{8}T\d{6}Z$/);
    const second = await home.start();
    expect((await second.call('GET', '/api/v1/agents', { token: await second.admin() })).body.total).toBe(0);
    expect(await late.renew(second)).toBe(401);
    await second.stop();
    // The operator changes their mind.
    for (const part of ['-wal', '-shm']) rmSync(join(dataDir, `tidegate.db${part}`), { force: true });
    copyFileSync(String(aside), join(dataDir, 'tidegate.db'));
    const third = await home.start();
    expect(await late.renew(third)).toBe(200);
  });

  test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ['cut short', (bytes) => bytes.subarray(0, bytes.length - 20), /cut short/],
    ['empty', () => Buffer.alloc(0), /cut short/],
    ['no backup', () => Buffer.from('hello'), /damaged, or no backup/],
    ['another text', () => gzipSync('{"a":1}\n'), /damaged, or no backup/],
    ['with a changed row', (bytes) => changed(bytes, (text) => text.replace('olga', 'eve_')), /SHA-256/],
    ['without its end', (bytes) => changed(bytes, (text) => text.replace(/\{"end".*\n/, '')), /cut short/],
    ['with more behind its end', (bytes) => changed(bytes, (text) => `${text}["x"]\n`), /follows its end/],
    [
      'of a newer form',
      (bytes) => changed(bytes, (text) => text.replace('"v":2', '"v":3')),
      /form 3, this program reads 1 and 2/,
    ],
  ])('of a file that is %s touches nothing', async (_, damage, fault) => {
    const home = await createHousehold(onSqlite);
    await (await home.start()).stop();
    const { to } = await backUp(home);
    writeFileSync(to, damage(readFileSync(to)));
    const { dataDir } = home.config;
    const before = readFileSync(join(dataDir, 'tidegate.db'));
    expect(await restore(home, to)).toEqual({ ok: false, fault: expect.stringMatching(fault) });
    expect(readFileSync(join(dataDir, 'tidegate.db')).equals(before)).toBe(true);
    expect(readdirSync(dataDir).filter((name) => /restor/.test(name))).toEqual([]);
  });

  test('of a backup of a newer program is refused in clear words', async () => {
    const home = await createHousehold(onSqlite);
    await (await home.start()).stop();
    const { to } = await backUp(home);
    const older = MIGRATIONS.slice(0, -1);
    const fault =
      /the backup has database version \d+, this program supports \d+: use the program that made it/;
    expect(await restore(home, to, { migrations: older })).toEqual({
      ok: false,
      fault: expect.stringMatching(fault),
    });
    expect(await verifyBackup(join(home.config.dataDir, 'none'), NO_KEYS)).toMatchObject({ ok: false });
  });

  test('of a backup from before the first release is refused in clear words', async () => {
    const home = await createHousehold(onSqlite);
    await (await home.start()).stop();
    const { to } = await backUp(home);
    const later = { version: 9_999, name: 'a-later-base', statements: [], isBase: true as const };
    expect(await restore(home, to, { migrations: [...MIGRATIONS, later] })).toEqual({
      ok: false,
      fault: expect.stringMatching(/^the backup has database version \d+, from before the first release/),
    });
  });

  test('merges the revocations of the copy beside the backup, on a machine that has none', async () => {
    const home = await createHousehold(onSqlite, { jwtSecret: 'x'.repeat(40) });
    const first = await home.start();
    const host = await enrolHost(first, 'machine-1');
    const made = await backUp(home, { withKeys: true });
    const token = await first.admin();
    await first.call('POST', `/api/v1/agents/${host.agentId}/revoke`, { token, body: {} });
    const later = await backUp(home, { name: 'later.backup' });
    await first.stop();
    // The newest copy is used with the older backup.
    copyFileSync(String(later.journal), `${made.to}.revocations.jsonl`);
    const target = await createHousehold(onSqlite, { jwtSecret: 'x'.repeat(40) });
    expect(await restore(target, made.to)).toMatchObject({ ok: true, journalEntries: 2 });
    expect(await host.renew(await target.start())).toBe(401);
  });

  test('never replaces a local secret with the one in the backup, and says so', async () => {
    const home = await createHousehold(onSqlite);
    await (await home.start()).stop();
    const { to } = await backUp(home, { withKeys: true });
    const target = await createHousehold(onSqlite);
    const path = join(target.config.dataDir, 'jwt-secret');
    writeFileSync(path, 'a secret of this machine, long enough\n');
    expect(await restore(target, to)).toMatchObject({ ok: false });
    const outcome = await restore(target, to, { acceptUnverified: true });
    expect(outcome).toMatchObject({
      ok: true,
      secrets: { kept: ['jwt-secret'], taken: [expect.stringMatching(/^keys\//)] },
    });
    expect(readFileSync(path, 'utf8')).toContain('of this machine');
    expect(existsSync(join(target.config.dataDir, 'tidegate.db'))).toBe(true);
  });
});

describe.each(ENGINES)('a backup that is replaced once it was verified, on $name', (engine) => {
  test('restores nothing: no row and no secret of the other file', async () => {
    const home = await createHousehold(onSqlite);
    const server = await home.start();
    await enrolHost(server, 'machine-1');
    await server.stop();
    const { to } = await backUp(home, { withKeys: true });
    const genuine = readFileSync(to);
    const [secret = ''] = /"jwt-secret","text":"[^"]+"/.exec(gunzipSync(genuine).toString()) ?? [];
    const forged = changed(genuine, (text) =>
      text.replace(secret, `"jwt-secret","text":"${'e'.repeat(43)}"`).replace('machine-1', 'machine-2'),
    );
    const target = await createHousehold(engine);
    const { dataDir } = target.config;
    const outcome = await restore(target, to, { afterVerifying: () => writeFileSync(to, forged) });
    expect(outcome).toEqual({
      ok: false,
      fault: expect.stringContaining('has changed since it was verified'),
    });
    expect(readdirSync(dataDir).filter((name) => /secret|keys$|tidegate\.db/.test(name))).toEqual([]);
    writeFileSync(to, genuine);
    expect(await restore(target, to)).toMatchObject({ ok: true, authenticity: 'carried' });
  });
});

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('a restore on $name', (engine) => {
  test('refuses a database with a fleet in it', async () => {
    const home = await createHousehold(engine);
    await (await home.start()).stop();
    const { to } = await backUp(home);
    expect(await restore(home, to)).toEqual({
      ok: false,
      fault: expect.stringMatching(/is not empty: create a new database/),
    });
  });
});

function changed(bytes: Buffer, change: (text: string) => string): Buffer {
  return gzipSync(change(gunzipSync(bytes).toString()));
}
