import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { openDatabase } from '../platform/db/open.ts';
import { type CliPlace, createCliPlace, createServedPlace } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('no engine');
const onSqlite = sqlite;
const DAY_MS = 86_400_000;

describe.each(ENGINES)('tidegate backup on $name', (engine) => {
  test('backs up while the server runs, into a new file of the data folder', async () => {
    const it = await createCliPlace(engine);
    await it.start();
    const made = await it.spawn(['backup', '--json']);
    expect(made).toMatchObject({ code: 0, err: '' });
    const { file, journal, manifest } = JSON.parse(made.out);
    expect(manifest).toMatchObject({
      format: 'tidegate-backup',
      engine: engine.name,
      epoch: 1,
      with_keys: false,
      tables: { fleet: 1, signing_keys: 1 },
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const folder = join(it.dataDir, 'backups');
    expect(
      readdirSync(folder)
        .map((name) => join(folder, name))
        .sort(),
    ).toEqual([file, journal].sort());
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  test('the database notes a backup that is complete, and not one that failed', async () => {
    const it = await createServedPlace(engine);
    expect(await backupsOf(it)).toMatchObject({
      level: 'ok',
      detail: expect.stringMatching(/^none yet; one is/),
    });
    it.clock.advance(8 * DAY_MS);
    expect(await backupsOf(it)).toMatchObject({ level: 'warn', detail: 'this database was never backed up' });
    expect(await it.run(['backup', '--to', join(it.dataDir, 'away', 'one.backup')])).toMatchObject({
      code: 1,
    });
    expect(await lastBackup(it)).toEqual([]);

    const to = join(it.dataDir, 'one.backup');
    const takenAtMs = it.clock.now();
    expect(JSON.parse((await it.run(['backup', '--to', to, '--json'])).out)).toMatchObject({
      recorded: true,
    });
    const noted = { id: 1, taken_at: takenAtMs, bytes: statSync(to).size, made_by: 'tidegate' };
    expect(await lastBackup(it)).toEqual([noted]);
    expect(await backupsOf(it)).toMatchObject({
      level: 'ok',
      detail: expect.stringMatching(/^the last one today, /),
    });
    it.clock.advance(8 * DAY_MS);
    expect((await it.run(['backup', '--to', to])).code).toBe(1);
    expect(await lastBackup(it)).toEqual([noted]);
    expect(await backupsOf(it)).toMatchObject({ level: 'warn', detail: expect.stringMatching(/8 days ago/) });
  });

  test('a backup by other means is noted by hand, also beside a running server', async () => {
    const it = await createCliPlace(engine);
    await it.start();
    expect(await it.spawn(['backup', '--record-external'])).toEqual({
      ...{ code: 0, err: '', out: 'Noted: a backup was made by other means just now.\n' },
    });
    expect(await lastBackup(it)).toMatchObject([{ bytes: null, made_by: 'other' }]);
    expect((await backupsOf(it)).detail).toBe('the last one today, by other means');
    expect(await it.run(['backup', '--record-external', '--json'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--record-external goes with no other option'),
    });
  });

  test('one that the database cannot note is a backup all the same, and says so', async () => {
    const it = await createServedPlace(engine);
    await withDatabase(it, ({ transact }) => transact((tx) => sql`DROP TABLE last_backup`.execute(tx)));
    const made = await it.run(['backup', '--to', join(it.dataDir, 'one.backup')]);
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Backup written: /),
      err: expect.stringMatching(/The backup is complete, but the database could not note it/),
    });
  });

  test('says where the file is and what it leaves out; never overwrites a file', async () => {
    const it = await createServedPlace(engine);
    const to = join(it.dataDir, 'one.backup');
    const made = await it.run(['backup', '--to', to]);
    expect(made).toMatchObject({ code: 0, err: '' });
    expect(made.out).toMatch(/^Backup written: .*one\.backup\n/);
    expect(made.out).toContain('It holds no private keys and no token secret');
    const before = statSync(to).mtimeMs;
    expect(await it.run(['backup', '--to', to])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /^No backup was made: .*is there already; allowed: a name that is not taken$/,
      ),
    });
    expect(statSync(to).mtimeMs).toBe(before);
  });
});

describe('tidegate restore', () => {
  test('names what an operator must decide, and what was kept', async () => {
    const it = await createCliPlace(onSqlite);
    const server = await it.start();
    const to = join(it.dataDir, 'one.backup');
    await it.run(['backup', '--to', to]);
    expect(await it.run(['restore', to])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Nothing was restored: a server is running on .*: stop it first$/),
    });
    await server.stop();
    const restored = await it.run(['restore', to]);
    expect(restored).toMatchObject({ code: 0, err: '' });
    for (const words of [
      'the next start begins a new epoch',
      'The old database is kept: ',
      'must be enrolled again, unless you open a resync',
    ]) {
      expect(restored.out).toContain(words);
    }
    const again = await it.run(['restore', to, '--resync-hours', '2', '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ ok: true, resync_hours: 2, manifest: { epoch: 1 } });
  });

  test('a restored database claims no newer backup than it had', async () => {
    const it = await createServedPlace(onSqlite);
    const [first, second] = [join(it.dataDir, 'first.backup'), join(it.dataDir, 'second.backup')];
    const firstMs = it.clock.now();
    await it.run(['backup', '--to', first]);
    it.clock.advance(DAY_MS);
    await it.run(['backup', '--to', second]);
    expect(await lastBackup(it)).not.toMatchObject([{ taken_at: firstMs }]);
    expect((await it.run(['restore', second])).code).toBe(0);
    expect(await lastBackup(it)).toMatchObject([{ taken_at: firstMs }]);
    expect((await it.run(['restore', first])).code).toBe(0);
    expect(await lastBackup(it)).toEqual([]);
  });

  test.each([
    [[], 'give exactly one backup file'],
    [['a', 'b'], 'give exactly one backup file'],
    [['a', '--resync-hours', '0'], '--resync-hours is "0"; allowed: 1 to 72'],
    [['a', '--resync-hours', '73'], '--resync-hours is "73"; allowed: 1 to 72'],
    [['a', '--resync-hours', '1e1'], '--resync-hours is "1e1"; allowed: 1 to 72'],
    [['a', '--force'], "Unknown option '--force'"],
  ])('%j is wrong usage', async (words, fault) => {
    const it = await createCliPlace(onSqlite);
    const ran = await it.run(['restore', ...words]);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(fault);
    expect(ran.err).toContain('Usage: tidegate restore FILE');
  });

  test('without a database it refuses', async () => {
    const it = await createCliPlace(onSqlite);
    expect(await it.run(['backup'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^No backup was made: there is no database in /),
    });
    expect((await it.run(['backup', 'x'])).code).toBe(2);
  });
});

async function lastBackup(it: CliPlace) {
  return withDatabase(it, ({ read }) => read.selectFrom('last_backup').selectAll().execute());
}

async function withDatabase<T>(it: CliPlace, use: (database: Database) => Promise<T>): Promise<T> {
  const database = openDatabase(it, databaseOptions());
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

/** What `tidegate doctor` says of backups. */
async function backupsOf(it: CliPlace) {
  const { findings } = JSON.parse((await it.run(['doctor', '--json'])).out);
  return findings.find(({ check }: { check: string }) => check === 'backups');
}
