import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { type CliPlace, servedPlaces, withEmptyDatabase } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';

const DAY_MS = 86_400_000;
const served = servedPlaces();

/** Some events of November, signed, and the same in January. */
async function place(engine: TestEngine) {
  const it = wordsOn(await served(engine));
  await it.month('november');
  await it.month('january');
  return it;
}

function wordsOn(it: CliPlace) {
  const file = (name: string) => join(it.dataDir, name);
  /** Adds events, signs them, and lets 50 days pass. */
  const month = async (label: string, count = 3) => {
    for (let n = 0; n < count; n++)
      await it.run(['tokens', 'add', '--label', `${label}-${'abcdefghijklmnop'[n]}`]);
    await it.run(['events', 'export', '--out', file(`${label}.ndjson`)]);
    it.clock.advance(50 * DAY_MS);
  };
  const remove = (before: string, archive: string, ...more: string[]) =>
    it.run(['events', 'remove', '--before', before, '--archive', file(archive), '--unread', ...more]);
  const doctor = (...archives: string[]) =>
    it.run(['doctor', '--verify-events', ...archives.flatMap((name) => ['--archive', file(name)])]);
  const verified = async (...words: string[]) =>
    JSON.parse((await it.run(['doctor', '--verify-events', '--json', ...words])).out);
  return { ...it, file, month, remove, doctor, verified };
}

/** Replaces the database with a backup, and starts the server until it has signed that. */
async function restored(engine: TestEngine, it: CliPlace, backup: string) {
  const after = wordsOn(await withEmptyDatabase(engine, it));
  expect(await after.run(['restore', backup])).toMatchObject({ code: 0 });
  expect(await after.doctor()).toMatchObject({
    code: 1,
    out: expect.stringContaining('If this database is a restored backup, start the server once'),
  });
  const server = await after.start();
  await expect.poll(() => after.verified()).toMatchObject({ ok: true });
  await server.stop();
  return after;
}

describe.each(ENGINES)('tidegate events remove on $name', (engine) => {
  test('writes an archive, and the log verifies with it and without it', async () => {
    const it = await place(engine);
    expect(await it.remove('2026-12-01', 'first')).toMatchObject({
      ...{ code: 0, err: '' },
      out: expect.stringMatching(/^Events 1 to \d+ were removed/),
    });
    expect(statSync(it.file('first')).mode & 0o777).toBe(0o600);
    expect((await it.doctor()).out).toMatch(
      /Events 1 to \d+ were removed on 2027-03-01T\S+ by cli: a signed anchor says so/,
    );
    expect((await it.remove('2027-01-20', 'second')).code).toBe(0);
    expect((await it.doctor()).out).toMatch(/\(those before \d+ earlier\)/);
    const both = await it.doctor('first', 'second');
    expect(both).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Archives: events 1 to ') });
    const one = await it.doctor('second');
    expect(one.out).toMatch(/Archives: events [1-9]\d* to/);
    for (const wrong of [['first'], ['second', 'first']])
      expect(await it.doctor(...wrong)).toMatchObject({ code: 1, err: expect.stringMatching(/archive/) });
  });

  test('an archive that was changed afterwards is named', async () => {
    const it = await place(engine);
    await it.remove('2026-12-01', 'first');
    const text = readFileSync(it.file('first'), 'utf8');
    const changed = text.replace('november-b', 'november-x');
    expect(changed).not.toBe(text);
    writeFileSync(it.file('first'), changed);
    expect(await it.doctor('first')).toMatchObject({
      code: 1,
      err: expect.stringContaining('does not match its hash'),
    });
  });

  test('removes nothing twice, nothing into a file that exists, and nothing that somebody has yet to read', async () => {
    const it = await place(engine);
    writeFileSync(it.file('taken'), '');
    expect(await it.remove('2026-12-01', 'taken')).toMatchObject({
      code: 1,
      err: expect.stringContaining('EEXIST'),
    });
    const database = openDatabase(it, databaseOptions());
    onTestFinished(() => database.close());
    const siem = { name: 'siem', position: 2, moved_at: 1, leased_until: 0 };
    await database.transact((tx) => tx.insertInto('event_followers').values(siem).execute());
    const unread = await it.run([
      ...['events', 'remove', '--before', '2026-12-01', '--archive', it.file('unread')],
    ]);
    expect(unread).toMatchObject({ code: 1, err: expect.stringContaining('siem (at 2)') });
    expect(existsSync(it.file('unread'))).toBe(false);
    expect((await it.doctor()).out).toContain('from the first event');
    expect((await it.remove('2026-12-01', 'first')).code).toBe(0);
    expect((await it.remove('2026-12-01', 'again')).out).toContain('nothing to remove');
  });
});

describe.each(ENGINES)('a restore of a backup from before a removal of events on $name', (engine) => {
  test('brings the removed events back: the log verifies, with their archive and with what hosts saw', async () => {
    const before = await place(engine);
    const backup = before.file('early.backup');
    expect((await before.run(['backup', '--to', backup])).code).toBe(0);
    const early = await before.verified();
    expect((await before.remove('2026-12-01', 'first')).code).toBe(0);
    await before.month('march', 9);
    const late = await before.verified();
    expect(late).toMatchObject({ ok: true, from_position: expect.any(Number) });
    expect(late.from_position).toBeGreaterThan(1);

    const it = await restored(engine, before, backup);
    expect(await it.verified()).toMatchObject({
      ...{ ok: true, from_position: 1, removed: null, warnings: [] },
      restored_at: early.to_position + 1,
    });
    const withArchive = await it.doctor('first');
    expect(withArchive).toMatchObject({ code: 0, err: '' });
    expect(withArchive.out).toMatch(
      /Archives: events 1 to \d+ are intact, and the log has those from 1 on, as a backup from before their removal does/,
    );
    const head = {
      ...{ epoch: 1, position: late.to_position, hash: late.to_hash },
      server_time: '2027-03-01T09:00:00Z',
    };
    writeFileSync(it.file('heads'), JSON.stringify({ agent_id: 'web-1', events_head: head }));
    expect(await it.verified('--head', it.file('heads'))).toMatchObject({ ok: true });
    // It names no epoch, so nothing says that it is from before the restore.
    const plain = await it.run([
      'doctor',
      '--verify-events',
      '--head',
      `${late.to_hash}:${late.to_position}`,
    ]);
    expect(plain).toMatchObject({
      code: 1,
      out: expect.stringMatching(/restored from a backup at position \d+: a head from before that/),
    });

    expect((await it.remove('2027-01-20', 'again')).code).toBe(0);
    expect(await it.doctor('again')).toMatchObject({
      code: 0,
      out: expect.stringContaining('end where the log begins'),
    });
  });

  test('another removal goes past the restore: what was signed before it is of a branch that is gone', async () => {
    const before = wordsOn(await served(engine));
    await before.month('november');
    const backup = before.file('early.backup');
    expect((await before.run(['backup', '--to', backup])).code).toBe(0);
    // The file beside the database and the hosts know positions that the restored log reaches later.
    await before.month('lost', 12);
    const lost = await before.verified();
    const it = await restored(engine, before, backup);
    await it.month('march');
    expect((await it.verified()).to_position).toBeLessThan(lost.to_position);
    expect((await it.remove('2027-03-10', 'first')).code).toBe(0);
    expect(await it.verified()).toMatchObject({ ok: true, fault: null });
    await it.month('may', 14);
    const longer = await it.verified();
    expect(longer).toMatchObject({ ok: true, fault: null });
    expect(longer.to_position).toBeGreaterThan(lost.to_position);
    expect(await it.doctor('lost.ndjson')).toMatchObject({
      code: 1,
      err: expect.stringContaining('and the log has another event there'),
    });
    const head = {
      ...{ epoch: 1, position: lost.to_position, hash: lost.to_hash },
      server_time: '2027-01-10T09:00:00Z',
    };
    writeFileSync(it.file('heads'), JSON.stringify({ agent_id: 'web-1', events_head: head }));
    expect(await it.verified('--head', it.file('heads'))).toMatchObject({ ok: true });
  });
});
