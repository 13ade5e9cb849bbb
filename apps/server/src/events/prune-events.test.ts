import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';
import { openCheckpointFile } from './checkpoint-file.ts';
import { makeCheckpoint } from './make-checkpoint.ts';
import { pruneEvents } from './prune-events.ts';
import { pruneCutoffs } from './prune-rules.ts';
import { newestAnchor, newestCheckpoints, oldestEvent, pageOfEvents } from './store.ts';
import { verifyDatabase } from './verify-database.ts';

const DAY_MS = 86_400_000;
const EVENT = {
  kind: 'security',
  type: 'REFRESH_TOKEN_REUSE',
  severity: 'critical',
  component: 'agents',
  content: {},
} as const;

test.each([
  ['the oldest is a moment too young', 30, -1, null],
  ['the oldest is as old as the retention', 30, 0, { keptSinceMs: 30 * DAY_MS, stepMs: 30 * DAY_MS }],
  ['the log is years old', 90, 0, { keptSinceMs: 90 * DAY_MS, stepMs: 31 * DAY_MS }],
])('pruning, %s', (_, keptDays, ms, expected) => {
  const facts = { oldestMs: 30 * DAY_MS, nowMs: (keptDays + 30) * DAY_MS + ms, retentionDays: 30 };
  expect(pruneCutoffs(facts)).toEqual(expected);
});

async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database, clock } = platform;
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-prune-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = openCheckpointFile(folder);
  const signer = createCheckpointSigner();
  const append = async (count: number) => {
    await database.transact(async (tx) => {
      for (let i = 0; i < count; i++) await appendEvent(tx, platform, EVENT);
    });
  };
  const checkpoint = () => makeCheckpoint({ platform, signer, file }, 'always');
  const how = { signer, trusted: signer.trusted };
  const pruning = (retentionDays = 30, isStopped = () => false) =>
    pruneEvents(platform, { ...how, retentionDays, isStopped });
  const prune = async (...given: Parameters<typeof pruning>) => (await pruning(...given)).removed;
  const verify = () =>
    verifyDatabase(database.read, { trusted: signer.trusted, lines: file.tail(), heads: [] });
  return { platform, database, clock, append, checkpoint, prune, pruning, verify, signer };
}

describe.each(ENGINES)('retention on $name', (engine) => {
  test('a prefix is removed up to a signed checkpoint, and the rest is verified from there', async () => {
    const { append, checkpoint, platform, prune, verify, database } = await open(engine);
    await append(4);
    await checkpoint();
    await append(3);
    await jumpAhead(platform, 30 * DAY_MS);
    await append(2);
    await checkpoint();
    expect(await prune()).toBe(0);
    await believeClock(platform);
    expect(await prune()).toBe(4);
    const rows = await pageOfEvents(database.read, { after: 0, until: null, limit: 99 });
    // Position 10 records the removal; 5 to 7 are as old, but no checkpoint that is old enough covers them.
    expect(rows.map((row) => row.position)).toEqual([5, 6, 7, 8, 9, 10]);
    expect(rows.at(-1)).toMatchObject({ type: 'events_pruned', actor: 'server' });
    expect(JSON.parse(rows.at(-1)?.content ?? '')).toEqual({
      from_position: 1,
      to_position: 4,
      retention_days: 30,
    });
    expect(await newestAnchor(database.read)).toMatchObject({ position: 4, hash: rows[0]?.previous_hash });
    expect(await verify()).toMatchObject({ fault: null, start: { position: 4 }, rows: 6 });
    expect(await prune()).toBe(0);
  });

  test('nothing younger than the retention is removed, and nothing without a checkpoint', async () => {
    const { append, checkpoint, clock, prune, verify } = await open(engine);
    await append(3);
    clock.advance(100 * DAY_MS);
    expect(await prune()).toBe(0);
    await checkpoint();
    clock.advance(30 * DAY_MS - 1);
    expect(await prune()).toBe(0);
    clock.advance(1);
    expect(await prune()).toBe(3);
    expect((await verify()).fault).toBeNull();
  });

  test('a run advances one day: a clock that jumps does not empty the log (RT18)', async () => {
    const { append, checkpoint, clock, prune, database } = await open(engine);
    for (let day = 0; day < 5; day++) {
      await append(1);
      await checkpoint();
      clock.advance(DAY_MS);
    }
    clock.advance(91 * DAY_MS);
    expect([await prune(), await prune()]).toEqual([2, 2]);
    expect((await oldestEvent(database.read))?.position).toBe(5);
  });

  test('rows are removed in chunks; the next run continues one that was stopped between two', async () => {
    const { append, checkpoint, clock, prune, verify, database } = await open(engine);
    await append(2_500);
    await checkpoint();
    clock.advance(40 * DAY_MS);
    let chunks = 0;
    expect(await prune(30, () => ++chunks > 2)).toBe(1_000);
    expect((await oldestEvent(database.read))?.position).toBe(1_001);
    expect((await verify()).fault).toBeNull();
    expect(await prune()).toBe(1_500);
    expect(await verify()).toMatchObject({ fault: null, start: { position: 2_500 }, rows: 1 });
  });

  test('anchors stay for ever, checkpoints before them do not', async () => {
    const { append, checkpoint, clock, prune, database } = await open(engine);
    for (const _ of [1, 2, 3]) {
      await append(2);
      await checkpoint();
      await append(2);
      await checkpoint();
      clock.advance(40 * DAY_MS);
      await prune();
    }
    const anchors = await database.read.selectFrom('event_anchors').select('position').execute();
    expect(anchors.map((row) => row.position)).toEqual([4, 9, 14]);
    expect((await newestCheckpoints(database.read, 9)).map((row) => row.position)).toEqual([14]);
  });

  test('concurrent replicas prune once', async () => {
    const { append, checkpoint, clock, prune, database, verify } = await open(engine);
    await append(5);
    await checkpoint();
    clock.advance(31 * DAY_MS);
    const removed = await Promise.all([prune(), prune(), prune()]);
    expect(removed.reduce((a, b) => a + b)).toBe(5);
    expect(await database.read.selectFrom('event_anchors').select('position').execute()).toHaveLength(1);
    expect(await verify()).toMatchObject({ fault: null, rows: 1 });
  });

  /** Three removals: up to 2, 5 and 8. */
  async function pruned() {
    const it = await open(engine);
    for (const _ of [1, 2, 3]) {
      await it.append(2);
      await it.checkpoint();
      it.clock.advance(40 * DAY_MS);
      expect(await it.prune()).toBeGreaterThan(0);
    }
    return it;
  }
  const tamper = (database: Database, ...statements: string[]) =>
    database.transact(async (tx) => {
      const tables = ['events', 'event_checkpoints', 'event_anchors'];
      const unguarded =
        engine.name === 'postgres'
          ? tables.map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`)
          : ['events_no_update', 'events_no_delete', 'event_anchors_no_update', 'event_anchors_no_delete']
              .concat('event_checkpoints_no_update', 'event_anchors_insert')
              .map((name) => `DROP TRIGGER ${name}`);
      for (const statement of [...unguarded, ...statements]) await sql.raw(statement).execute(tx);
    });

  test('what was removed, when and by whom is signed, and each anchor names the one before', async () => {
    const { database, verify } = await pruned();
    const { fault, removed, warnings, start } = await verify();
    expect([fault, warnings, start.position]).toEqual([null, [], 8]);
    expect(removed).toMatchObject({
      ...{ first_position: 6, position: 8, removed_by: 'server', retention_days: 30 },
      created_at: expect.stringMatching(/Z$/),
    });
    const anchors = await database.read.selectFrom('event_anchors').select('statement').execute();
    expect(anchors).toHaveLength(3);
    expect(anchors.every(({ statement }) => statement !== null)).toBe(true);
  });

  test.each<[string, string[], string]>([
    ['the newest anchor removed', ['DELETE FROM event_anchors WHERE position = 8'], 'were removed'],
    ['all anchors removed', ['DELETE FROM event_anchors'], 'were removed'],
    [
      'an older anchor removed',
      ['DELETE FROM event_anchors WHERE position = 5'],
      'does not name the anchor before',
    ],
    [
      'an older statement in the newest anchor',
      [
        'UPDATE event_anchors SET statement = (SELECT statement FROM event_anchors WHERE position = 5) WHERE position = 8',
      ],
      'says something else',
    ],
    [
      'more events removed behind the anchor',
      ['DELETE FROM events WHERE position <= 9'],
      'this row was removed',
    ],
    [
      'the anchor moved with what was removed',
      [
        'DELETE FROM events WHERE position <= 9',
        'UPDATE event_anchors SET position = 9, hash = (SELECT previous_hash FROM events WHERE position = 10) WHERE position = 8',
      ],
      'says something else than what was signed',
    ],
    [
      'a row of the kept part changed',
      ["UPDATE events SET content = '{}' WHERE position = 9"],
      'does not match its hash',
    ],
    [
      'a statement that is none',
      ["UPDATE event_anchors SET statement = '{}' WHERE position = 8"],
      'no known key',
    ],
  ])('%s is a fault', async (_, statements, message) => {
    const { append, checkpoint, database, verify } = await pruned();
    await append(3);
    await checkpoint();
    await tamper(database, ...statements);
    expect((await verify()).fault?.detail).toContain(message);
  });

  test('an anchor that another key signed is a fault', async () => {
    const { append, checkpoint, clock, platform, verify, signer } = await open(engine);
    await append(3);
    await checkpoint();
    clock.advance(40 * DAY_MS);
    const how = { trusted: signer.trusted, signer: createCheckpointSigner(2), isStopped: () => false };
    expect(await pruneEvents(platform, { ...how, retentionDays: 30 })).toEqual({ removed: 3, refused: null });
    expect((await verify()).fault).toMatchObject({ kind: 'bad_checkpoint', position: 3 });
  });

  test('an anchor of release 0.1 counts with a warning, if an event records it', async () => {
    const { database, verify } = await pruned();
    await tamper(database, 'UPDATE event_anchors SET statement = NULL');
    expect(await verify()).toMatchObject({
      ...{ fault: null, removed: null, start: { position: 8 } },
      warnings: [expect.stringContaining('no anchor proves it')],
    });
  });

  test.each<[string, string, string]>([
    ['events that were changed', `UPDATE events SET content = '{"n":1}' WHERE position = 2`, 'do not verify'],
    [
      'a checkpoint made older',
      'UPDATE event_checkpoints SET created_at = 1 WHERE position = 3',
      'not what was signed',
    ],
    [
      'a forged checkpoint',
      "UPDATE event_checkpoints SET envelope = '{}' WHERE position = 3",
      'no known key',
    ],
  ])('%s are not removed', async (what, statement, message) => {
    const { append, checkpoint, clock, database, pruning } = await open(engine);
    await append(3);
    await checkpoint();
    const isYoung = what.startsWith('a checkpoint made');
    clock.advance((isYoung ? 1 : 40) * DAY_MS);
    const older = isYoung ? ['UPDATE events SET created_at = 1'] : [];
    await tamper(database, statement, ...older);
    expect(await pruning()).toEqual({ removed: 0, refused: expect.stringContaining(message) });
    expect((await oldestEvent(database.read))?.position).toBe(1);
  });
});
