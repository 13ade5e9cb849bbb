import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { markFamilyRevoked } from '../agent-credentials/store.ts';
import { appendEvent } from '../events/append-event.ts';
import { chainEvents } from '../events/chain-events.ts';
import { pageOfEvents } from '../events/store.ts';
import { verifyDatabase } from '../events/verify-database.ts';
import { DatabaseFault, type Tx } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { journaledDatabase } from './journaled-database.ts';
import { openJournal } from './revocation-journal.ts';

const FAMILIES = [1, 2, 3, 4, 5, 6];
const LOST = new Error('the act failed');
/** Transactions begun together stay in one turn of the event loop, and so in one group. */
const ONE_TURN = { turn: () => null };

/** Families to revoke, on a journaled database; `act` revokes one and records it as an event. */
async function open(engine: TestEngine, options: Parameters<TestEngine['open']>[0] = {}) {
  const plain = await engine.open(options);
  const folder = tmpDir();
  onTestFinished(() => folder.remove());
  const opened = openJournal(folder.path);
  if (!opened.ok) throw new Error(opened.fault);
  const { journal } = opened;
  onTestFinished(journal.close);
  let keySets = 0;
  const onKeySet = async () => void keySets++;
  const database = journaledDatabase(plain, { journal, onKeySet });
  const platform = createTestPlatform(database);
  const idOf = new Map<number, string>();
  for (const n of FAMILIES) idOf.set(n, (await insertTestAgent(plain, { n })).familyId);
  const numbersOf = (ids: readonly string[]) => FAMILIES.filter((n) => ids.includes(idOf.get(n) ?? ''));

  async function act(tx: Tx, n: number): Promise<void> {
    const familyId = idOf.get(n) ?? '';
    if (!(await markFamilyRevoked(tx, { familyId, reason: 'operator', atMs: n }))) return;
    tx.context.hasNewKeySet = true;
    const about = { kind: 'security', type: 'AGENT_REVOKED', severity: 'info', component: 'test' } as const;
    await appendEvent(tx, platform, { ...about, content: { n } });
  }

  /** These families and no others are revoked, by so many transactions: in rows, chain, journal and kept key sets. */
  async function expectRevoked(expected: readonly number[], { by = expected.length } = {}): Promise<void> {
    const rows = plain.read.selectFrom('refresh_families').select('id').where('status', '=', 'revoked');
    const events = await pageOfEvents(plain.read, { after: 0, until: null, limit: 100 });
    const recorded = events.map((row): unknown => JSON.parse(row.content).n);
    expect({
      rows: numbersOf((await rows.execute()).map(({ id }) => id)),
      events: recorded.toSorted(),
      journal: numbersOf(journal.entries().map(({ id }) => id)),
      keySets,
    }).toEqual({ rows: expected, events: expected, journal: expected, keySets: by });
    const trusted = { keys: [], revokedAtMs: new Map() };
    const chain = await verifyDatabase(plain.read, { trusted, lines: [], heads: [] });
    expect(chain).toMatchObject({ fault: null, rows: expected.length });
  }
  return { database, act, expectRevoked };
}

describe.each(ENGINES)('T20, R3: what a failed attempt left is never written, on $name', (engine) => {
  test('by the next transaction on the same connection', async () => {
    const { database, act, expectRevoked } = await open(engine, {
      connections: { transactions: 1, reads: 1, prepared: 1 },
    });
    const failing = database.transact(async (tx) => {
      await act(tx, 1);
      throw LOST;
    });
    await expect(failing).rejects.toBe(LOST);
    await expectRevoked([]);
    await database.transact((tx) => act(tx, 2));
    await database.transact(async () => {});
    await expectRevoked([2]);
  });

  test('by those of the same moment, be it the first, one in between or the last', async () => {
    const { database, act, expectRevoked } = await open(engine, { slices: ONE_TURN });
    const outcomes = await Promise.allSettled(
      FAMILIES.map((n) =>
        database.transact(async (tx) => {
          await act(tx, n);
          if ([1, 3, 6].includes(n)) throw LOST;
        }),
      ),
    );
    expect(outcomes.map(({ status }) => status === 'rejected')).toEqual([
      true,
      false,
      true,
      false,
      false,
      true,
    ]);
    await expectRevoked([2, 4, 5]);
  });

  test.each(['outer', 'inner'])(
    'by a transaction begun inside of another, where the %s one fails',
    async (failing) => {
      const { database, act, expectRevoked } = await open(engine);
      const started: Promise<PromiseSettledResult<void>[]>[] = [];
      const transact = (n: number, name: string) =>
        database.transact(async (tx) => {
          await act(tx, n);
          // Not awaited here: on SQLite it waits for the end of this one.
          if (name === 'outer') started.push(Promise.allSettled([transact(2, 'inner')]));
          await act(tx, n + 2);
          if (name === failing) throw LOST;
        });
      const outer = await Promise.allSettled([transact(1, 'outer')]);
      const outcomes = [...outer, ...(await Promise.all(started)).flat()];
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      await expectRevoked(failing === 'outer' ? [2, 4] : [1, 3], { by: 1 });
    },
  );

  test('a function that fails and is caught keeps its row, its event and its revocation together', async () => {
    const { database, act, expectRevoked } = await open(engine);
    await database.transact(async (tx) => {
      const nested = async () => {
        await act(tx, 1);
        throw LOST;
      };
      await expect(nested()).rejects.toBe(LOST);
    });
    await expectRevoked([1]);
  });
});

const only = (name: TestEngine['name']) => ENGINES.filter((engine) => engine.name === name);

describe.each(only('sqlite'))('T20, R3: a group of transactions on $name', (engine) => {
  test('whose transaction a member ended writes nothing of those that wait for its commit', async () => {
    const { database, act, expectRevoked } = await open(engine, { slices: ONE_TURN });
    const outcomes = await Promise.allSettled([
      database.transact((tx) => act(tx, 1)),
      database.transact((tx) => act(tx, 2)),
      database.transact(async (tx) => {
        await act(tx, 3);
        // As a full disk does.
        await sql`ROLLBACK`.execute(tx);
        throw LOST;
      }),
      database.transact((tx) => act(tx, 4)),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: expect.any(DatabaseFault) },
      { status: 'rejected', reason: expect.any(DatabaseFault) },
      { status: 'rejected', reason: LOST },
      { status: 'fulfilled' },
    ]);
    await expectRevoked([4]);
  });
});

describe.each(only('postgres'))('T20, R3: a transaction that is run again on $name', (engine) => {
  test('after a serialization failure at its end writes what the last attempt decided', async () => {
    let attempts = 0;
    const { database, act, expectRevoked } = await open(engine, {
      async beforeCommit(tx) {
        await chainEvents(tx);
        // The lines of this attempt are in the journal by now.
        if (attempts === 1)
          await sql.raw("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$").execute(tx);
      },
    });
    await database.transact(async (tx) => {
      attempts++;
      await act(tx, attempts);
    });
    expect(attempts).toBe(2);
    await expectRevoked([2]);
  });

  test('after a deadlock records each act once', async () => {
    const { database, act, expectRevoked } = await open(engine);
    const bothHold = Promise.withResolvers<void>();
    let holding = 0;
    let attempts = 0;
    const inOrder = (first: number, second: number) =>
      database.transact(async (tx) => {
        attempts++;
        await act(tx, first);
        if (++holding === 2) bothHold.resolve();
        await bothHold.promise;
        await act(tx, second);
      });
    await Promise.all([inOrder(1, 2), inOrder(2, 1)]);
    expect(attempts).toBeGreaterThan(2);
    await expectRevoked([1, 2], { by: 1 });
  });

  test('is not run again when its connection is cut before the commit, and writes nothing', async () => {
    let isCut = false;
    const { database, act, expectRevoked } = await open(engine, {
      async beforeCommit(tx) {
        await chainEvents(tx);
        if (!isCut) return;
        isCut = false;
        const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(tx);
        await sql`SELECT pg_terminate_backend(${rows[0]?.pid ?? 0})`.execute(database.read);
      },
    });
    isCut = true;
    await expect(database.transact((tx) => act(tx, 1))).rejects.toThrow(DatabaseFault);
    await expectRevoked([]);
    await database.transact((tx) => act(tx, 2));
    await expectRevoked([2]);
  });
});
