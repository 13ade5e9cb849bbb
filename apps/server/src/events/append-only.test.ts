import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { EVENT } from '../testing/event-chains.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';

/** Five events, a checkpoint at 2, 3 and 4, and the anchor at 3. */
async function open(engine: TestEngine): Promise<Database> {
  const platform = createTestPlatform(await engine.open());
  const { database } = platform;
  await database.transact(async (tx) => {
    for (let i = 0; i < 5; i++) await appendEvent(tx, platform, EVENT);
    for (const position of [2, 3, 4]) {
      const row = { position, hash: `h${position}`, epoch: 1, envelope: `e${position}`, created_at: 1 };
      await tx.insertInto('event_checkpoints').values(row).execute();
    }
    const anchor = { position: 3, hash: 'h3', envelope: 'e3', moved_at: 1 };
    await tx.insertInto('event_anchors').values(anchor).execute();
  });
  return database;
}

function run(database: Database, statement: string): Promise<unknown> {
  return database.transact((tx) => sql.raw(statement).execute(tx));
}

describe.each(ENGINES)('the log on $name (16.4.2)', (engine) => {
  test.each([
    ["UPDATE events SET content = '{}' WHERE position = 5", 'events are append-only'],
    ['UPDATE events SET position = 9 WHERE position = 1', 'events are append-only'],
    ['DELETE FROM events WHERE position = 4', 'events are append-only'],
    ['DELETE FROM events', 'events are append-only'],
    ["UPDATE event_checkpoints SET hash = 'x' WHERE position = 2", 'checkpoints are never changed'],
    ['DELETE FROM event_checkpoints WHERE position = 3', 'only checkpoints before'],
    ['DELETE FROM event_checkpoints WHERE position = 4', 'only checkpoints before'],
    ['DELETE FROM event_anchors', 'an anchor is a checkpoint'],
    ['UPDATE event_anchors SET position = 4', 'an anchor is a checkpoint'],
    [
      "INSERT INTO event_anchors (position, hash, envelope, moved_at) VALUES (2, 'h2', 'e2', 1)",
      'an anchor is a checkpoint',
    ],
    [
      "INSERT INTO event_anchors (position, hash, envelope, moved_at) VALUES (5, 'h5', 'e5', 1)",
      'an anchor is a checkpoint',
    ],
    [
      "INSERT INTO event_anchors (position, hash, envelope, moved_at) VALUES (4, 'x', 'e4', 1)",
      'an anchor is a checkpoint',
    ],
  ])('%s is refused', async (statement, message) => {
    const database = await open(engine);
    await expect(run(database, statement)).rejects.toThrow(message);
    expect(await database.read.selectFrom('events').select('content').execute()).toHaveLength(5);
  });

  test('rows up to the anchor, and checkpoints before it, can be removed', async () => {
    const database = await open(engine);
    await run(database, 'DELETE FROM events WHERE position <= 3');
    await run(database, 'DELETE FROM event_checkpoints WHERE position < 3');
    const left = await database.read.selectFrom('events').select('position').orderBy('position').execute();
    expect(left.map((row) => row.position)).toEqual([4, 5]);
    await run(
      database,
      "INSERT INTO event_anchors (position, hash, envelope, moved_at) VALUES (4, 'h4', 'e4', 2)",
    );
    await run(database, 'DELETE FROM events WHERE position = 4');
  });

  test(`no statement of ${engine.name} bypasses it`, async () => {
    const database = await open(engine);
    const statement =
      engine.name === 'postgres'
        ? 'TRUNCATE events'
        : "INSERT OR REPLACE INTO events SELECT position, id, kind, type, severity, component, agent_id, actor, 'x', created_at, previous_hash, hash FROM events WHERE position = 5";
    await expect(run(database, statement)).rejects.toThrow('events are append-only');
  });
});
