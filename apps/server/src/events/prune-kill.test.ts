import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../migrations.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open.ts';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES, type EnginePlace, type TestEngine } from '../testing/engines.ts';
import { EVENT } from '../testing/event-chains.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { readsWithPlugin } from '../testing/with-plugin.ts';
import { appendEvent } from './append-event.ts';
import { openCheckpointFile } from './checkpoint-file.ts';
import { makeCheckpoint } from './make-checkpoint.ts';
import { pruneEvents, type Removed, removeEvents } from './prune-events.ts';
import { newestCheckpoint, oldestEvent } from './store.ts';
import { verifyDatabase } from './verify-database.ts';

const DAY_MS = 86_400_000;
const OLD = 20_000;
const PROGRAM = join(import.meta.dirname, '../testing/prune-process.ts');

async function open(engine: TestEngine, place: EnginePlace, old: number) {
  const database = openDatabase(place, databaseOptions());
  onTestFinished(() => database.close());
  await migrate(database, { migrations: MIGRATIONS, now: Date.now });
  const platform = createTestPlatform(database, { seed: engine.name });
  const signer = createCheckpointSigner();
  const file = openCheckpointFile(place.dataDir);
  const append = (count: number) =>
    database.transact(async (tx) => {
      for (let n = 0; n < count; n++) await appendEvent(tx, platform, EVENT);
    });
  for (let n = 0; n < old; n += 5_000) await append(Math.min(5_000, old - n));
  await makeCheckpoint({ platform, signer, file }, 'always');
  platform.clock.advance(40 * DAY_MS);
  await append(3);
  const verify = () =>
    verifyDatabase(database.read, { trusted: signer.trusted, lines: file.tail(), heads: [] });
  const first = async () => (await oldestEvent(database.read))?.position ?? 0;
  const how = { signer, trusted: signer.trusted, isStopped: () => false };
  const anchors = async () =>
    (await database.read.selectFrom('event_anchors').select('position').execute()).length;
  return { database, platform, append, verify, first, how, anchors };
}

/** Half of the chunks. */
const HALFWAY = 10;

/** Removes in a process of its own; `standsAt`: it stands still there until it is told to go on. */
function remove(place: EnginePlace, nowMs: number, { standsAt = 0 } = {}) {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(place), `${nowMs}`, `${standsAt}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, said: text(child.stdout), ended: once(child, 'exit') };
}

describe.each(ENGINES)('a removal of old events on $name', (engine) => {
  test('that is killed leaves a log that verifies, and another process goes on with it', async () => {
    const place = await engine.place();
    const { platform, verify, first, anchors, append } = await open(engine, place, OLD);
    const killed = remove(place, platform.now(), { standsAt: HALFWAY });
    await expect.poll(first, { interval: 2 }).toBeGreaterThan(1);
    killed.child.kill('SIGKILL');
    expect(await killed.ended).toEqual([null, 'SIGKILL']);
    const at = await first();
    expect(at).toBeGreaterThan(1);
    expect(at).toBeLessThan(OLD);
    expect((at - 1) % 1_000).toBe(0);
    expect((await verify()).fault).toBeNull();
    await append(2);
    const next = remove(place, platform.now());
    expect(await next.said).toBe(`${JSON.stringify({ removed: OLD + 1 - at, refused: null })}\n`);
    expect(await verify()).toMatchObject({ fault: null, start: { position: OLD }, rows: 6 });
    expect([await first(), await anchors()]).toEqual([OLD + 1, 1]);
  });

  test('by an operator and by the retention at once is one removal, and no younger event goes', async () => {
    const { database, platform, verify, how, first, anchors } = await open(
      engine,
      await engine.place(),
      2_500,
    );
    const checkpoint = await newestCheckpoint(database.read);
    if (checkpoint === null) throw new Error('nothing is signed');
    const wanted = { checkpoint, signedBeforeMs: platform.now(), by: 'cli', retentionDays: null };
    const outcomes = await Promise.all([
      removeEvents(platform, how, wanted),
      pruneEvents(platform, { ...how, retentionDays: 30 }),
    ]);
    expect(outcomes.map(({ refused }) => refused)).toEqual([null, null]);
    expect(outcomes.reduce((sum, { removed }) => sum + removed, 0)).toBe(2_500);
    expect([await first(), await anchors()]).toEqual([2_501, 1]);
    expect(await verify()).toMatchObject({ fault: null, rows: 4 });
  });

  test('that comes after another, or verifies rows that another removes meanwhile, refuses nothing', async () => {
    const { database, platform, how, first, anchors } = await open(engine, await engine.place(), 2_500);
    const checkpoint = await newestCheckpoint(database.read);
    if (checkpoint === null) throw new Error('nothing is signed');
    const wanted = { checkpoint, signedBeforeMs: platform.now(), by: 'cli', retentionDays: null };
    const remove = () => removeEvents(platform, how, wanted);
    let other: Promise<Removed> | null = null;
    const read = readsWithPlugin(database, {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        // The anchor is read, the rows are not yet.
        other ??= remove();
        await other;
        return result;
      },
    });
    const between = { ...platform, database: { ...database, read } };
    expect(await removeEvents(between, how, wanted)).toEqual({ removed: 0, refused: null });
    expect(await other).toEqual({ removed: 2_500, refused: null });
    expect(await remove()).toEqual({ removed: 0, refused: null });
    expect([await first(), await anchors()]).toEqual([2_501, 1]);
  });
});

test.each(ENGINES.filter(({ name }) => name === 'postgres'))(
  'a server that stands still in a removal does not keep another from ending it, on $name',
  async (engine) => {
    const place = await engine.place();
    const { platform, verify, first, anchors } = await open(engine, place, OLD);
    const frozen = remove(place, platform.now(), { standsAt: HALFWAY });
    await expect.poll(first, { interval: 2 }).toBeGreaterThan(1);
    frozen.child.kill('SIGSTOP');
    const at = await first();
    expect(at).toBeLessThan(OLD);
    const other = remove(place, platform.now());
    // The rows of one chunk may be locked by the one that stands still: it goes on before their time is over, also halfway.
    const going = setInterval(() => frozen.child.kill('SIGCONT'), 3_000);
    onTestFinished(() => clearInterval(going));
    const [a, b] = [await frozen.said, await other.said].map((said) => JSON.parse(said));
    expect([a.refused, b.refused]).toEqual([null, null]);
    expect(a.removed + b.removed).toBe(OLD);
    expect([await first(), await anchors()]).toEqual([OLD + 1, 1]);
    expect((await verify()).fault).toBeNull();
  },
);

test.each(ENGINES)(
  'a backup from before a removal has the removed events, and verifies from its own beginning, on $name',
  async (engine) => {
    const place = await engine.place();
    const { database, platform, how, verify } = await open(engine, place, 1_500);
    const rows = async (of = database) =>
      (
        await of.read
          .selectFrom('events')
          .select(['position', 'hash'])
          .where('position', '<=', 1_503)
          .orderBy('position')
          .execute()
      ).map(({ position, hash }) => `${position} ${hash}`);
    const before = await rows();
    const backup = await copied(engine, place, database);
    await pruneEvents(platform, { ...how, retentionDays: 30 });
    expect(await verify()).toMatchObject({ fault: null, start: { position: 1_500 }, rows: 4 });
    const kept = await rows();
    const restored = openDatabase(backup, databaseOptions());
    onTestFinished(() => restored.close());
    const lines = openCheckpointFile(backup.dataDir).tail();
    const walked = await verifyDatabase(restored.read, { trusted: how.trusted, lines, heads: [] });
    expect(walked).toMatchObject({ fault: null, removed: null, start: { position: 0 }, rows: 1_503 });
    expect(await rows(restored)).toEqual(before);
    // What the removal kept is the same in both: nothing is lost or invented.
    expect(kept).toEqual(before.slice(1_500));
  },
);

/** The files and rows as they are now. */
async function copied(
  engine: TestEngine,
  place: EnginePlace,
  database: ReturnType<typeof openDatabase>,
): Promise<EnginePlace> {
  const target = await engine.place();
  cpSync(join(place.dataDir, 'event-checkpoints.ndjson'), join(target.dataDir, 'event-checkpoints.ndjson'));
  const to = openDatabase(target, databaseOptions());
  await migrate(to, { migrations: MIGRATIONS, now: Date.now });
  for (const table of ['events', 'event_checkpoints', 'events_head'] as const) {
    const rows = await database.read.selectFrom(table).selectAll().execute();
    await to.transact(async (tx) => {
      if (table === 'events_head') await sql`DELETE FROM events_head`.execute(tx);
      for (let n = 0; n < rows.length; n += 500)
        await tx
          .insertInto(table)
          .values(rows.slice(n, n + 500))
          .execute();
    });
  }
  await to.close();
  return target;
}
