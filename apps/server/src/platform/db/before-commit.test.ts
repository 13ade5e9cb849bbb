import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { beforeCommit, createGathering, withWorkBeforeCommit } from './before-commit.ts';
import type { Tx } from './engine.ts';

async function mark(tx: Tx, version: number): Promise<void> {
  await tx.insertInto('schema_migrations').values({ version, name: 'mark', applied_at: 0 }).execute();
}

describe.each(ENGINES)('work before the commit on $name', (engine) => {
  test('runs after the rest, in the order in which it was put off, in the same transaction', async () => {
    const database = await engine.open();
    const done: string[] = [];
    const answer = await database.transact(async (tx) => {
      for (const n of [1, 2]) {
        beforeCommit(tx, async () => {
          done.push(`put off ${n}`);
          await mark(tx, 1_000 + n);
        });
      }
      await mark(tx, 1_000);
      done.push('work');
      return 'answer';
    });
    expect([answer, ...done]).toEqual(['answer', 'work', 'put off 1', 'put off 2']);
    const marks = await database.read
      .selectFrom('schema_migrations')
      .where('name', '=', 'mark')
      .select('version')
      .orderBy('version')
      .execute();
    expect(marks.map((row) => row.version)).toEqual([1_000, 1_001, 1_002]);
  });

  test('of one kind is done together; what comes once it was done, and in another transaction, by itself', async () => {
    const database = await engine.open();
    const done: string[] = [];
    const [some, others] = ['some', 'others'].map((name) =>
      createGathering<number>(async (_, pieces) => void done.push(`${name} ${pieces.join(' ')}`)),
    );
    const failing = database.transact(async (tx) => {
      some?.add(tx, 0);
      throw new Error('never');
    });
    await expect(failing).rejects.toThrow('never');
    await database.transact(async (tx) => {
      for (const n of [1, 2]) {
        some?.add(tx, n);
        others?.add(tx, n);
      }
      beforeCommit(tx, async () => some?.add(tx, 3));
    });
    await database.transact(async (tx) => some?.add(tx, 4));
    expect(done).toEqual(['some 1 2', 'others 1 2', 'some 3', 'some 4']);
  });

  test('of one kind that an attempt on the same object left behind is forgotten', async () => {
    const done: string[] = [];
    const gathering = createGathering<string>(async (_, pieces) => void done.push(pieces.join(' ')));
    const database = await engine.open();
    await database.transact(async (tx) => {
      const attempt = (piece: string, fails: boolean) =>
        withWorkBeforeCommit(async () => {
          gathering.add(tx, piece);
          if (fails) throw new Error('lost');
        })(tx);
      await expect(attempt('first', true)).rejects.toThrow('lost');
      await attempt('second', false);
    });
    expect(done).toEqual(['second']);
  });

  test('that fails takes the transaction with it', async () => {
    const database = await engine.open();
    const failing = database.transact(async (tx) => {
      await mark(tx, 1_000);
      beforeCommit(tx, () => Promise.reject(new Error('the end failed')));
    });
    await expect(failing).rejects.toThrow('the end failed');
    const marks = database.read.selectFrom('schema_migrations').where('name', '=', 'mark').select('version');
    expect(await marks.execute()).toEqual([]);
  });

  test('of a transaction that failed is never done, also where the next one is the same object', async () => {
    const database = await engine.open();
    const done: string[] = [];
    await database.transact(async (tx) => {
      const failing = withWorkBeforeCommit(async (same) => {
        beforeCommit(same, async () => void done.push('left behind'));
        throw new Error('the act failed');
      });
      await expect(failing(tx)).rejects.toThrow('the act failed');
      await withWorkBeforeCommit(async (same) => beforeCommit(same, async () => void done.push('own')))(tx);
      await withWorkBeforeCommit(async () => {})(tx);
    });
    expect(done).toEqual(['own']);
  });
});
