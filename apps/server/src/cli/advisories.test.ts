import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { zipArchive } from '@tidegate/testkit/zip-archive';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readSnapshots } from '../advisories/mirror/store.ts';
import { saveChecks } from '../advisories/store.ts';
import type { Subject } from '../advisories/subjects.ts';
import type { Database } from '../platform/db/engine.ts';
import { openDatabase } from '../platform/db/open.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createServedPlace } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';

describe.each(ENGINES)('tidegate advisories on $name', (engine) => {
  async function setUp() {
    const place = await createServedPlace(engine);
    const osv = await startFakeOsv({ covered: ['Debian:12'] });
    onTestFinished(() => osv.stop());
    const files = await startFakeOsvExport(osv);
    onTestFinished(() => files.stop());
    osv.addRecord({ id: 'CVE-1', modified: '2026-11-20T12:00:00Z' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['1'] },
    ]);
    const path = join(place.dataDir, 'all.zip');
    const write = (records = osv.all()) =>
      writeFileSync(
        path,
        zipArchive(records.map((one) => ({ name: `${one.id}.json`, content: JSON.stringify(one) }))),
      );
    write();
    const env = { SERVICE_ADVISORY_SOURCE: 'mirror', SERVICE_ADVISORY_EXPORT_URL: files.url };
    async function run(...words: string[]) {
      return place.run(['advisories', ...words], { env });
    }
    async function enrol(): Promise<void> {
      const database = openDatabase(place, databaseOptions());
      await insertTestAgent(database, { n: 1 });
      await database.transact(async (tx) => {
        const agent = await tx.selectFrom('agents').select('id').executeTakeFirst();
        const report = { digest: 'd', scanned_at: 1, received_at: 1, complete: 1, package_count: 0 };
        await tx
          .insertInto('inventory_reports')
          .values({ agent_id: agent?.id ?? '', ecosystem: 'apt', ...report })
          .execute();
      });
      await database.close();
    }
    return { ...place, osv, files, path, write, run, enrol };
  }

  test('import dates a file by its newest record, and never calls it fresh', async () => {
    const { run, path, enrol } = await setUp();
    await enrol();
    const ran = await run('import', path, '--json');
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({
      ...{ ecosystem: 'Debian', releases: ['Debian:12'], as_of: '2026-11-20T12:00:00.000Z' },
      ...{ as_of_kind: 'newest_record', stale: false, records: 2, bad_records: 0 },
    });
    const shown = JSON.parse((await run('status', '--json')).out);
    expect(shown).toMatchObject({ source: 'mirror', ecosystems: [{ state: 'ok', source: 'file:all.zip' }] });
  });

  test('status names unreadable records', async () => {
    const { run, path, enrol, osv } = await setUp();
    await enrol();
    const sound = osv.all().map((one) => ({ name: `${one.id}.json`, content: JSON.stringify(one) }));
    writeFileSync(path, zipArchive([...sound, { name: 'ODD-1.json', content: '<html>' }]));
    const ran = await run('import', path, '--json');
    expect(JSON.parse(ran.out)).toMatchObject({ bad_records: 1, illegible: ['ODD-1'] });
    expect(JSON.parse((await run('status', '--json')).out).ecosystems).toMatchObject([
      { illegible: ['ODD-1'] },
    ]);
    const shown = (await run('status')).out.split('\n');
    const at = shown[0]?.indexOf('UNREADABLE') ?? -1;
    expect([at > 0, shown[1]?.slice(at, at + 6)]).toEqual([true, 'ODD-1 ']);
  });

  test('import says when its data is already stale', async () => {
    const { run, path, osv, write } = await setUp();
    osv.addRecord({ id: 'CVE-1', modified: '2026-11-01T00:00:00Z' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['1'] },
    ]);
    write();
    const ran = await run('import', path, '--ecosystem', 'Debian:12');
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('as of 2026-11-01T00:00:00') });
    expect(ran.err).toContain('decisions treat it as stale');
  });

  test('--as-of is shown as stated; it cannot be in the future or before the newest record', async () => {
    const { run, path } = await setUp();
    const importAs = (asOf: string) =>
      run('import', path, '--ecosystem', 'Debian:12', '--as-of', asOf, '--json');
    const ran = await importAs('2026-11-21T08:00:00Z');
    expect(JSON.parse(ran.out)).toMatchObject({ as_of: '2026-11-21T08:00:00.000Z', as_of_kind: 'stated' });
    expect(await importAs('2026-11-21T09:00:01Z')).toMatchObject({ code: 2 });
    expect(await importAs('yesterday')).toMatchObject({ code: 2 });
    const early = await importAs('2026-11-20T11:59:59Z');
    expect(early).toMatchObject({ code: 1, err: expect.stringContaining('newest record is younger') });
  });

  test('import keeps newer data, and refuses a file that is no archive or names no ecosystem', async () => {
    const { run, path, write, osv } = await setUp();
    await run('import', path, '--ecosystem', 'Debian:12', '--as-of', '2026-11-21T08:00:00Z');
    const older = await run('import', path, '--ecosystem', 'Debian:12');
    expect(older).toMatchObject({ code: 1, err: expect.stringContaining('data in use is newer') });
    writeFileSync(path, '<html>');
    expect(await run('import', path, '--ecosystem', 'Debian:12')).toMatchObject({ code: 1 });
    expect(await run('import', `${path}.none`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('ENOENT'),
    });
    osv.addRecord({ id: 'A-1' }, [{ ecosystem: 'npm', name: 'left', versions: ['1'] }]);
    write();
    expect(await run('import', path)).toMatchObject({ code: 1, err: expect.stringContaining('--ecosystem') });
    expect(await run('import', path, '--ecosystem', 'AlmaLinux')).toMatchObject({ code: 1 });
  });

  test('a wrong import is corrected downwards by --replace, once both counts are confirmed', async () => {
    const { run, path, write, osv, dataDir, databaseUrl, clock } = await setUp();
    const load = (...words: string[]) => run('import', path, '--ecosystem', 'Debian:12', ...words);
    for (let n = 2; n < 10; n++)
      osv.addRecord({ id: `CVE-${n}`, modified: '2026-11-20T12:00:00Z' }, [
        { ecosystem: 'Debian:12', name: 'zlib', versions: ['1'] },
      ]);
    write();
    expect((await load('--as-of', '2026-11-21T08:00:00Z')).code).toBe(0);
    write(osv.all().filter(({ id }) => id === 'CVE-1' || id === 'CVE-2'));

    const inUse = osv.all().length;
    const refused = await load();
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(`but ${inUse} are in use`) });
    const database = openDatabase({ dataDir, databaseUrl }, databaseOptions());
    onTestFinished(() => database.close());
    const check = { ecosystem: 'Debian:12', name: 'zlib', version: '1' };
    await saveFinding(database, check, clock.now());
    const counted = await load('--replace');
    expect(counted).toMatchObject({
      code: 1,
      err: expect.stringContaining(`${inUse} records of Debian are in use, and the file has 2`),
    });
    for (const wrong of [`${inUse}:3`, `${inUse - 1}:2`])
      expect((await load('--replace', '--confirm', wrong)).code).toBe(1);
    expect([await readRecordCount(database), await findingsOf(database)]).toEqual([inUse, [clock.now()]]);
    const events = () =>
      database.read
        .selectFrom('events')
        .select(['severity', 'actor', 'content'])
        .where('type', '=', 'advisories_replaced')
        .execute();
    expect(await events()).toEqual([]);

    expect((await load('--replace', '--confirm', `${inUse}:2`)).code).toBe(0);
    expect(await readRecordCount(database)).toBe(2);
    // Its findings may rest on the wrong data.
    expect(await findingsOf(database)).toEqual([0]);
    const [event] = await events();
    expect(event).toMatchObject({ severity: 'warning', actor: 'cli' });
    expect(JSON.parse(event?.content ?? '')).toMatchObject({
      ...{ ecosystem: 'Debian', source: 'file:all.zip', records_before: inUse, records: 2 },
      ...{ as_of_before: '2026-11-21T08:00:00.000Z', as_of: '2026-11-20T12:00:00.000Z' },
    });
  });

  test('--replace loads a file as usual where there is nothing to replace', async () => {
    const { run, path, dataDir, databaseUrl } = await setUp();
    expect(await run('import', path, '--ecosystem', 'Debian:12', '--replace')).toMatchObject({ code: 0 });
    const database = openDatabase({ dataDir, databaseUrl }, databaseOptions());
    onTestFinished(() => database.close());
    expect(await readRecordCount(database)).toBe(2);
    expect(await database.read.selectFrom('mirror_entries').select('id').execute()).not.toEqual([]);
  });

  test('refresh fetches what the fleet needs, then its changes, and reports failures', async () => {
    const { run, enrol, files, clock } = await setUp();
    expect(await run('refresh')).toMatchObject({ code: 0, out: expect.stringContaining('No host') });
    await enrol();
    const ran = await run('refresh', '--json');
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({ ecosystems: [{ state: 'ok', as_of_kind: 'fetched' }] });
    expect(files.requests).toEqual(
      ['Debian/all.zip', 'Debian/modified_id.csv', 'Debian/CVE-1.json'].slice(0, 2),
    );
    clock.advance(60_000);
    await run('refresh');
    expect(files.requests.filter((path) => path.endsWith('.zip'))).toHaveLength(1);
    await run('refresh', '--full');
    expect(files.requests.filter((path) => path.endsWith('.zip'))).toHaveLength(2);
    files.mode = 'failing';
    const failed = await run('refresh');
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining('Debian') });
    expect(failed.out).toContain('failed: status 503');
  });

  test.each([
    [['status', 'x']],
    [['status', '--full']],
    [['refresh', '--as-of', 'x']],
    [['refresh', '--replace']],
    [['import', 'f', '--confirm', '1:2']],
    [['import', 'f', '--replace', '--confirm', '1']],
    [['import']],
    [[]],
  ])('wrong words (%s) print the usage', async (words) => {
    const { run } = await setUp();
    expect(await run(...words)).toMatchObject({ code: 2, err: expect.stringContaining('Usage') });
  });
});

async function readRecordCount({ read }: Database): Promise<number | undefined> {
  return (await readSnapshots(read)).get('Debian')?.records;
}

async function saveFinding(database: Database, subject: Subject, checkedAtMs: number): Promise<void> {
  const check = { subject, verdict: 'vulnerable', reason: null, ids: ['CVE-9'], checkedAtMs } as const;
  await database.transact((tx) =>
    saveChecks(tx, [{ ...check, source: 'mirror', snapshot: null }], { keeps: 'newer', nowMs: checkedAtMs }),
  );
}

async function findingsOf({ read }: Database): Promise<number[]> {
  const rows = await read.selectFrom('advisory_checks').select('checked_at').execute();
  return rows.map(({ checked_at: atMs }) => atMs);
}
