import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readSnapshots } from '../advisories/mirror/store.ts';
import { readChecks } from '../advisories/store.ts';
import type { Config } from '../config.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';

const MINUTE_MS = 60_000;
const OPENSSL = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.12-1' };

/** SQLite has one writer at a time. */
const ON_POSTGRES = ENGINES.filter(({ name }) => name === 'postgres');

describe.each(ON_POSTGRES)('a snapshot that arrives beside another transaction on $name', (engine) => {
  async function scene(advisorySource: Config['advisorySource']) {
    const gate = createGate();
    const it = await createApprovalsApp(engine, {
      settings: { advisorySource },
      isExportApart: true,
      wrap: gate.wrap,
    });
    const { mirror, database } = it;
    if (!mirror) throw new Error('no mirror');

    return {
      ...it,
      refresh: () => mirror.refresh(),
      stopAt: gate.stopAt,
      snapshot: async () => (await readSnapshots(database.read)).get('Debian'),
      learn(modified: string) {
        it.mirrored.addRecord({ id: 'CVE-1', modified, summary: 'bad' }, [
          { ecosystem: OPENSSL.ecosystem, name: OPENSSL.name, versions: [OPENSSL.version] },
        ]);
      },
      /** Until it has ended, or a transaction waits for another one. */
      async untilEndOrWait(work: Promise<unknown>): Promise<void> {
        let hasEnded = false;
        void work.finally(() => {
          hasEnded = true;
        });
        await expect.poll(async () => hasEnded || (await isWaiting(database))).toBe(true);
      },
    };
  }

  test('A1: an answer of the API that is stored beside the first snapshot does not outlive it', async () => {
    const { addUpdate, approve, learn, refresh, stopAt, untilEndOrWait } = await scene('mirror+api');
    const id = await addUpdate();
    learn('2026-11-21T08:00:00Z');
    const answer = stopAt(async (tx) => (await readChecks(tx, [OPENSSL])).size > 0);
    const approved = approve(id);
    await answer.reached;
    const loaded = refresh();
    await untilEndOrWait(loaded);
    answer.letGo();
    // It meets the snapshot, or finds nothing that is checked with it yet.
    const { status, body } = await approved;
    expect([status, body.code]).toEqual(
      status === 503 ? [503, 'verdict_pending'] : [409, 'approval_blocked'],
    );
    await loaded;
    const blocked = { status: 409, body: { reason: 'known_vulnerability' } };
    await expect.poll(() => approve(id)).toMatchObject(blocked);
  });

  test('A1: a snapshot waits for the approvals that are minted by the one before', async () => {
    const { addUpdate, approve, clock, learn, refresh, snapshot, stopAt, untilEndOrWait } =
      await scene('mirror');
    const [first, second] = [await addUpdate(), await addUpdate({ name: 'zlib' })];
    await refresh();
    const before = await snapshot();
    learn('2026-11-21T09:10:00Z');
    clock.advance(15 * MINUTE_MS);
    const minting = stopAt(hasApproval);
    const approved = approve(first);
    await minting.reached;
    const loaded = refresh();
    await untilEndOrWait(loaded);
    expect(await snapshot()).toEqual(before);
    minting.letGo();
    expect((await approved).status).toBe(200);
    await loaded;
    expect((await snapshot())?.sha256).not.toBe(before?.sha256);
    expect((await approve(second)).status).toBe(200);
  });

  test('A1: an approval waits for a snapshot that is being stored, and rests on it', async () => {
    const { addUpdate, approve, call, clock, learn, refresh, snapshot, stopAt, untilEndOrWait } =
      await scene('mirror');
    const id = await addUpdate();
    await refresh();
    expect((await call('POST', `/api/v1/updates/${id}/preview`)).body).toMatchObject({ verdict: 'clear' });
    const before = await snapshot();
    learn('2026-11-21T09:10:00Z');
    clock.advance(15 * MINUTE_MS);
    const storing = stopAt(async (tx) => (await readSnapshots(tx)).get('Debian')?.sha256 !== before?.sha256);
    const loaded = refresh();
    await storing.reached;
    const approved = approve(id);
    await untilEndOrWait(approved);
    storing.letGo();
    expect(await approved).toMatchObject({ status: 409, body: { reason: 'known_vulnerability' } });
    await loaded;
  });
});

/** Stops a transaction between its last statement and its commit. */
function createGate() {
  let stop: { isThere: (tx: Tx) => Promise<boolean>; reach: () => void; held: Promise<void> } | null = null;
  return {
    wrap: (database: Database): Database => ({
      ...database,
      transact: (work) =>
        database.transact(async (tx) => {
          const result = await work(tx);
          if (stop && (await stop.isThere(tx))) {
            const { reach, held } = stop;
            stop = null;
            reach();
            await held;
          }
          return result;
        }),
    }),
    /** The next transaction that sees this; `reached` when it has stopped. */
    stopAt(isThere: (tx: Tx) => Promise<boolean>) {
      const reached = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      onTestFinished(() => held.resolve());
      stop = { isThere, reach: reached.resolve, held: held.promise };
      return { reached: reached.promise, letGo: held.resolve };
    },
  };
}

async function hasApproval(tx: Tx): Promise<boolean> {
  return (await tx.selectFrom('approvals').select('token_id').limit(1).executeTakeFirst()) !== undefined;
}

async function isWaiting({ read }: Database): Promise<boolean> {
  const { rows } = await sql`SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(read);
  return rows.length > 0;
}
