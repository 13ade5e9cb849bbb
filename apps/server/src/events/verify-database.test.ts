import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent, hashOfEvent } from './append-event.ts';
import { openCheckpointFile } from './checkpoint-file.ts';
import { makeCheckpoint } from './make-checkpoint.ts';
import { pageOfEvents } from './store.ts';
import type { Pin } from './verify-chain.ts';
import { verifyDatabase, type WalkOptions } from './verify-database.ts';
import { type PartOrder, verifyPart } from './verify-part.ts';

const EVENT = {
  kind: 'security',
  type: 'MACHINE_BOUND',
  severity: 'info',
  component: 'agents',
  content: { n: 1 },
} as const;

interface Given extends Pick<WalkOptions, 'verifiers' | 'partRows'> {
  lines?: string[];
  heads?: Pin[];
  onProgress?: () => void;
}

/** Twelve events; checkpoints at 6 and 10, in the table and in the file. */
async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database } = platform;
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-verify-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = openCheckpointFile(folder);
  const signer = createCheckpointSigner();
  const append = () => database.transact((tx) => appendEvent(tx, platform, EVENT));
  for (let i = 1; i <= 12; i++) {
    await append();
    if (i === 6 || i === 10) await makeCheckpoint({ platform, signer, file }, 'always');
  }
  const verifyPlainly = (given: Given = {}) =>
    verifyDatabase(database.read, { trusted: signer.trusted, lines: file.tail(), heads: [], ...given });
  const part = (order: PartOrder) => verifyPart((range) => pageOfEvents(database.read, range), order);
  /** Row by row and in parts: both find the same. */
  const verify = async (given: Given = {}) => {
    const walked = await verifyPlainly(given);
    for (const partRows of [1, 5]) {
      expect(await verifyPlainly({ ...given, verifiers: [part, part], partRows })).toEqual(walked);
    }
    return walked;
  };
  return { database, append, verify, verifyPlainly, file };
}

/** An attacker who writes to the database can also drop its triggers. */
async function tamper(database: Database, statements: readonly string[]): Promise<void> {
  const tables = ['events', 'event_checkpoints', 'event_anchors'];
  const unguarded =
    database.engine === 'postgres'
      ? tables.map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`)
      : [
          'events_no_update',
          'events_no_delete',
          'event_checkpoints_no_update',
          'event_checkpoints_no_delete',
          'event_anchors_insert',
        ].map((name) => `DROP TRIGGER ${name}`);
  await database.transact(async (tx) => {
    for (const statement of [...unguarded, ...statements]) await sql.raw(statement).execute(tx);
  });
}

/** Rewrites everything from a position on, with matching hashes and head. */
async function rewriteFrom(database: Database, position: number): Promise<void> {
  const rows = await pageOfEvents(database.read, { after: position - 2, until: null, limit: 99 });
  let previous = rows[0]?.hash ?? '';
  const statements: string[] = [];
  for (const { hash: _, ...row } of rows.slice(1)) {
    const next = { ...row, content: '{"n":2}', previous_hash: previous };
    previous = hashOfEvent(next);
    statements.push(
      `UPDATE events SET content = '${next.content}', previous_hash = '${next.previous_hash}', hash = '${previous}' WHERE position = ${row.position}`,
    );
  }
  await tamper(database, [...statements, `UPDATE events_head SET hash = '${previous}'`]);
}

const cutOff = (last: number) => [
  `DELETE FROM events WHERE position > ${last}`,
  `UPDATE events_head SET position = ${last}, hash = (SELECT hash FROM events WHERE position = ${last})`,
];

describe.each(ENGINES)('the log on $name (RT25)', (engine) => {
  test('an untouched log is intact, and the answer says how far it is signed', async () => {
    const { verify } = await open(engine);
    const walked = await verify();
    expect(walked).toMatchObject({ fault: null, rows: 12, start: { position: 0, hash: null }, warnings: [] });
    expect(walked.last.position).toBe(12);
    expect(walked.pinned).toMatchObject({ position: 10 });
  });

  test.each<[string, string[], unknown]>([
    ['a flipped letter', ['UPDATE events SET content = \'{"n":3}\' WHERE position = 4'], ['changed', 4]],
    ['a removed row', ['DELETE FROM events WHERE position = 7'], ['removed', 7]],
    [
      'reordered rows',
      [
        'UPDATE events SET position = -4 WHERE position = 4',
        'UPDATE events SET position = 4 WHERE position = 5',
        'UPDATE events SET position = 5 WHERE position = -4',
      ],
      ['moved', 4],
    ],
    [
      'a row put in at the end',
      [
        "INSERT INTO events SELECT 13, 'x', kind, type, severity, component, agent_id, actor, content, created_at, previous_hash, hash FROM events WHERE position = 12",
      ],
      ['changed', 13],
    ],
    ['the end cut off', ['DELETE FROM events WHERE position > 11'], ['truncated', 12]],
    [
      'everything cut off with the head',
      ['DELETE FROM events', 'UPDATE events_head SET position = 0, hash = NULL'],
      ['truncated', 1],
    ],
    ['no head any more', ['UPDATE events_head SET position = 0, hash = NULL'], ['inserted', 1]],
    ['the end cut off with the head', cutOff(9), ['truncated', 10]],
    [
      'the end cut off with head and checkpoints',
      [...cutOff(8), 'DELETE FROM event_checkpoints WHERE position > 6'],
      ['truncated', 9],
    ],
    [
      'a checkpoint changed',
      ['UPDATE event_checkpoints SET position = 9 WHERE position = 10'],
      ['bad_checkpoint', 9],
    ],
    [
      'a checkpoint forged',
      ["UPDATE event_checkpoints SET envelope = '{}' WHERE position = 10"],
      ['bad_checkpoint', 10],
    ],
    [
      'the beginning removed behind a checkpoint that nobody removed up to',
      [
        'INSERT INTO event_anchors SELECT position, hash, envelope, 1, NULL FROM event_checkpoints WHERE position = 6',
        'DELETE FROM events WHERE position <= 6',
      ],
      ['bad_checkpoint', 6],
    ],
    [
      'an anchor forged',
      [
        "INSERT INTO event_anchors SELECT 3, hash, '{}', 1, NULL FROM events WHERE position = 3",
        'DELETE FROM events WHERE position <= 3',
      ],
      ['bad_checkpoint', 3],
    ],
  ])('%s', async (_, statements, expected) => {
    const { database, verify } = await open(engine);
    await tamper(database, statements);
    const { fault } = await verify();
    expect(fault && [fault.kind, fault.position]).toEqual(expected);
  });

  test('the next checkpoint detects a rewritten log with matching hashes', async () => {
    const { database, verify } = await open(engine);
    await rewriteFrom(database, 8);
    const { fault } = await verify();
    expect(fault).toMatchObject({ kind: 'rewritten', position: 10 });
    expect(fault?.detail).toContain('after position 6');
  });

  test('the heads that hosts keep detect changes after the last checkpoint (T6)', async () => {
    const { database, verify } = await open(engine);
    const [row] = await pageOfEvents(database.read, { after: 11, until: null, limit: 1 });
    const heads = [{ position: 12, hash: row?.hash ?? '', epoch: 1, source: 'the head that web-1 keeps' }];
    expect((await verify({ heads })).pinned).toEqual(heads[0]);
    await tamper(database, cutOff(11));
    expect((await verify()).fault).toBeNull();
    expect((await verify({ heads })).fault).toEqual({
      kind: 'truncated',
      position: 12,
      id: null,
      detail: 'the log ends at 11, but the head that web-1 keeps is at 12: the end was cut off',
    });
  });

  test('an incomplete line of the file is a warning and no fault', async () => {
    const { verify, file } = await open(engine);
    const { fault, warnings } = await verify({ lines: [...file.tail(), '{"payl'] });
    expect(fault).toBeNull();
    expect(warnings).toEqual(['a checkpoint in the file beside the database is not JSON']);
  });

  test('a log of several pages is walked while it grows, with progress', async () => {
    const { append, verifyPlainly, verify, database } = await open(engine);
    await database.transact(async (tx) => {
      const platform = createTestPlatform(database, { seed: 'more' });
      for (let i = 0; i < 1_000; i++) await appendEvent(tx, platform, EVENT);
    });
    const writing = Promise.all(Array.from({ length: 50 }, append));
    const seen: number[] = [];
    const walked = await verifyPlainly({ onProgress: (...[done]: number[]) => void seen.push(done ?? 0) });
    await writing;
    expect(walked.fault).toBeNull();
    expect(walked.rows).toBeGreaterThanOrEqual(1_012);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect((await verify()).rows).toBe(1_062);
  });
});
