import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { ENGINES, type TestEngine } from '../../testing/engines.ts';
import type { Tx } from './engine.ts';
import { emptyContext } from './write-context.ts';

async function mark(tx: Tx, version: number): Promise<void> {
  await tx.insertInto('schema_migrations').values({ version, name: 'mark', applied_at: 0 }).execute();
}

/** A database whose step before the commit is this one, and the marks that it holds. */
async function open(engine: TestEngine, beforeCommit: (tx: Tx) => Promise<void>) {
  const database = await engine.open({ beforeCommit });
  const marks = async () => {
    const rows = await database.read
      .selectFrom('schema_migrations')
      .where('name', '=', 'mark')
      .select('version')
      .orderBy('version')
      .execute();
    return rows.map((row) => row.version);
  };
  return { database, marks };
}

const KEY = { kind: 'key', atMs: 5 } as const;

/** Leaves something of each kind in the context. */
function fill({ context }: Tx, id: string): void {
  const text = { type: id, severity: 'info', component: 'test', content: '{}' };
  context.events.push({ id, kind: 'system', ...text, agent_id: null, actor: null, created_at: 0 });
  context.revocations.push({ ...KEY, id });
  context.hasNewKeySet = true;
}

describe.each(ENGINES)('the step before the commit on $name', (engine) => {
  test('runs after the work, in the same transaction', async () => {
    const done: string[] = [];
    const { database, marks } = await open(engine, async (tx) => {
      done.push('step');
      await mark(tx, 1_001);
    });
    const answer = await database.transact(async (tx) => {
      await mark(tx, 1_000);
      done.push('work');
      return 'answer';
    });
    expect([answer, ...done]).toEqual(['answer', 'work', 'step']);
    expect(await marks()).toEqual([1_000, 1_001]);
  });

  test('finds what the work left, in its order; each transaction begins with nothing', async () => {
    const found: string[] = [];
    const { database } = await open(engine, async ({ context }) => {
      const ids = context.events.map(({ id }) => id);
      const revoked = context.revocations.map(({ id }) => id);
      found.push(`${ids.join(' ')}, ${revoked.join(' ')}, ${context.hasNewKeySet}`);
    });
    const failing = database.transact(async (tx) => {
      fill(tx, 'zero');
      throw new Error('never');
    });
    await expect(failing).rejects.toThrow('never');
    await database.transact(async (tx) => {
      fill(tx, 'one');
      fill(tx, 'two');
    });
    await database.transact(async (tx) => {
      expect(tx.context).toEqual(emptyContext());
      tx.context.revocations.push({ ...KEY, id: 'three' });
    });
    expect(found).toEqual(['one two, one two, true', ', three, false']);
  });

  test('that fails takes the transaction with it', async () => {
    const { database, marks } = await open(engine, () => Promise.reject(new Error('the end failed')));
    await expect(database.transact((tx) => mark(tx, 1_000))).rejects.toThrow('the end failed');
    expect(await marks()).toEqual([]);
  });

  test('never runs for work that failed, and runs for the next', async () => {
    const stepsOf: string[] = [];
    const { database, marks } = await open(engine, async ({ context }) => {
      stepsOf.push(context.events.map(({ id }) => id).join());
    });
    const failing = database.transact(async (tx) => {
      await mark(tx, 1_000);
      fill(tx, 'left behind');
      throw new Error('the act failed');
    });
    await expect(failing).rejects.toThrow('the act failed');
    await database.transact(async (tx) => {
      await mark(tx, 1_001);
      fill(tx, 'own');
    });
    await database.transact(async () => {});
    expect(stepsOf).toEqual(['own', '']);
    expect(await marks()).toEqual([1_001]);
  });
});

const POSTGRES = ENGINES.filter(({ name }) => name === 'postgres');

test.each(POSTGRES)('an attempt that is run again on $name begins with nothing', async (engine) => {
  const found: string[][] = [];
  const { database, marks } = await open(engine, async ({ context }) => {
    found.push(context.events.map(({ id }) => id));
  });
  const contexts = new Set<unknown>();
  await database.transact(async (tx) => {
    expect(tx.context).toEqual(emptyContext());
    contexts.add(tx.context);
    await mark(tx, 1_000 + contexts.size);
    fill(tx, `attempt ${contexts.size}`);
    if (contexts.size === 1)
      await sql.raw("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$").execute(tx);
  });
  expect(contexts.size).toBe(2);
  expect(found).toEqual([['attempt 2']]);
  expect(await marks()).toEqual([1_002]);
});
