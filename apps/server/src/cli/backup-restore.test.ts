import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCliPlace, createServedPlace } from '../testing/cli-place.ts';
import { ENGINES } from '../testing/engines.ts';

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('no engine');
const onSqlite = sqlite;

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
