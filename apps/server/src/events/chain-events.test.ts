import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import type { CommitSteps, Database, Tx } from '../platform/db/engine.ts';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';
import { CHAINING, chainEvents, chainKept } from './chain-events.ts';
import { oldestUnchained, pageOfEvents } from './store.ts';
import { createEventUpkeep } from './upkeep.ts';
import { verifyDatabase } from './verify-database.ts';

const { beforeCommit: keepEvents } = CHAINING.postgres;
const EVENT = { kind: 'security', type: 'MACHINE_BOUND', severity: 'info', component: 'agents' } as const;

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))(
  'events that are kept on $name',
  (engine) => {
    async function open(steps: CommitSteps) {
      const platform = createTestPlatform(await engine.open(steps));
      const { database } = platform;
      const act = (n: number) => database.transact((tx) => append(tx, n));
      const append = (tx: Tx, n: number) => appendEvent(tx, platform, { ...EVENT, content: { n } });
      return { platform, database, act, append };
    }
    const chained = async ({ read }: Database) => {
      const rows = await pageOfEvents(read, { after: 0, until: null, limit: 1_000 });
      return rows.map((row): unknown => JSON.parse(row.content).n);
    };
    const waits = async ({ read }: Database) => (await oldestUnchained(read)) !== null;
    const faultOf = async ({ read }: Database) =>
      (await verifyDatabase(read, { trusted: { keys: [], revokedAtMs: new Map() }, lines: [], heads: [] }))
        .fault;

    test('acts of the same moment share the transactions that chain their events', async () => {
      let steps = 0;
      const { database, act } = await open({
        beforeCommit: keepEvents,
        async afterCommit(tx) {
          steps++;
          return chainKept(tx);
        },
      });
      const acts = Array.from({ length: 100 }, (_, n) => n);
      await Promise.all(acts.map(act));
      const all = await chained(database);
      expect(all.toSorted((a, b) => Number(a) - Number(b))).toEqual(acts);
      expect(steps).toBeLessThan(60);
      expect(await faultOf(database)).toBeNull();
    });

    test('an act resolves once its events are in the chain, in the order of the act', async () => {
      const { database, append } = await open(CHAINING.postgres);
      await database.transact(async (tx) => {
        for (const n of [1, 2, 3]) await append(tx, n);
      });
      expect(await chained(database)).toEqual([1, 2, 3]);
      expect(await waits(database)).toBe(false);
    });

    test('an act does not fail with the step after it, and the next act chains its events', async () => {
      let isBroken = true;
      const { database, act } = await open({
        beforeCommit: keepEvents,
        async afterCommit(tx) {
          if (isBroken) throw new Error('the process ends here');
          return chainKept(tx);
        },
      });
      await act(1);
      expect([await chained(database), await waits(database)]).toEqual([[], true]);
      isBroken = false;
      await act(2);
      expect(await chained(database)).toEqual([1, 2]);
      expect(await faultOf(database)).toBeNull();
    });

    test('the upkeep of the log chains what an ended process has kept', async () => {
      const { platform, database, act } = await open({
        beforeCommit: keepEvents,
        afterCommit: async () => false,
      });
      await act(1);
      expect(await chained(database)).toEqual([]);
      const file = { path: '', append: () => {}, tail: () => [] };
      const signer = createCheckpointSigner();
      const upkeep = createEventUpkeep({
        ...{ platform, signer, trusted: () => signer.trusted, file, retentionDays: null },
      });
      upkeep.start();
      await expect.poll(() => chained(database)).toEqual([1]);
      await upkeep.stop();
    });

    test('a server that stands still with the head of the chain holds acts up for seconds, and loses nothing', async () => {
      const { database, act } = await open(CHAINING.postgres);
      const [isHeld, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const frozen = database.transact(async (tx) => {
        await sql`UPDATE events_head SET position = position`.execute(tx);
        isHeld.resolve();
        await release.promise;
      });
      await isHeld.promise;
      await act(1);
      expect(await waits(database)).toBe(true);
      release.resolve();
      await frozen;
      await act(2);
      expect(await chained(database)).toEqual([1, 2]);
    });

    test('a server of the release before, which chains before its commits, writes into the same log', async () => {
      let isOld = false;
      const { database, act } = await open({
        beforeCommit: (tx) => (isOld ? chainEvents(tx) : keepEvents(tx)),
        afterCommit: chainKept,
      });
      const acts = Array.from({ length: 40 }, (_, n) => n);
      await Promise.all(
        acts.map((n) => {
          isOld = n % 2 === 0;
          return act(n);
        }),
      );
      expect(await faultOf(database)).toBeNull();
      expect((await chained(database)).toSorted((a, b) => Number(a) - Number(b))).toEqual(acts);
    });

    test('many kept events are chained in several transactions', async () => {
      const { database, append } = await open(CHAINING.postgres);
      await database.transact(async (tx) => {
        for (let n = 0; n < 4_500; n++) await append(tx, n);
      });
      expect(await waits(database)).toBe(false);
      expect(
        (
          await verifyDatabase(database.read, {
            trusted: { keys: [], revokedAtMs: new Map() },
            lines: [],
            heads: [],
          })
        ).rows,
      ).toBe(4_500);
    });
  },
);
