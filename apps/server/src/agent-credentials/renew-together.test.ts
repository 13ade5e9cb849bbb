import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { type Database, DatabaseFault, type Tx } from '../platform/db/engine.ts';
import { isMachineId } from '../platform/http/identities.ts';
import { createAgentsApp, enrol, eventTypes, renewal } from '../testing/agents-app.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { parseRefreshToken } from './refresh-tokens.ts';
import { createRenewals } from './renew-together.ts';
import type { RenewalRequest } from './renew-tokens.ts';

const HOSTS = 6;
const POSTGRES = ENGINES.filter(({ name }) => name === 'postgres');

describe.each(POSTGRES)('renewals of one moment on $name', (engine) => {
  /** Hosts that renew at once; `strike` does something to each of their transactions after its work. */
  async function setUp() {
    const plain = await engine.open();
    const counted = countStatements(plain);
    const fault: { strike: ((tx: Tx) => Promise<unknown>) | null; after: (() => void) | null } = {
      strike: null,
      after: null,
    };
    const database: Database = {
      ...counted.database,
      async transact(work) {
        const result = await counted.database.transact(async (tx) => {
          const worked = await work(tx);
          await fault.strike?.(tx);
          return worked;
        });
        fault.after?.();
        return result;
      },
    };
    const it = createAgentsApp(database);
    const hosts: { machineId: string; token: string; requestId: string }[] = [];
    for (let n = 0; n < HOSTS; n++) {
      const machineId = `machine-${n}`;
      const { refresh_token: token } = await enrol(it, machineId);
      hosts.push({ machineId, token, requestId: randomUUID() });
    }
    const renewAll = () =>
      Promise.all(
        hosts.map(({ token, machineId, requestId }) => renewal(it, token, { machineId, requestId })),
      );
    const families = () =>
      plain.read
        .selectFrom('refresh_families')
        .innerJoin('agents', 'agents.id', 'refresh_families.agent_id')
        .select(['refresh_families.id', 'cur_seq', 'prev_grace_used', 'machine_id'])
        .orderBy('machine_id')
        .execute();
    counted.reset();
    return { it, hosts, renewAll, families, fault, plain, counts: counted.counts };
  }
  const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);
  const all = (status: number) => Array.from({ length: HOSTS }, () => status);

  test('they share a transaction of three statements, and each gets its own pair', async () => {
    const { it, hosts, renewAll, families, counts } = await setUp();
    const answers = await renewAll();
    expect(statusesOf(answers)).toEqual(all(200));
    expect(counts()).toMatchObject({ transactions: 1, statements: 3 });
    expect((await families()).map(({ cur_seq }) => cur_seq)).toEqual(all(2));
    for (const [n, { body }] of answers.entries()) {
      const again = await renewal(it, body.refresh_token, { machineId: hosts[n]?.machineId ?? null });
      expect(again.status).toBe(200);
    }
  });

  test('what is not plain is judged alone, and only that: reuse, another machine, a repeat, a first machine', async () => {
    const { it, hosts, renewAll, families, plain } = await setUp();
    const [reused, moved, repeated, unbound] = hosts;
    if (!reused || !moved || !repeated || !unbound) throw new Error('there are six hosts');
    const next = await renewal(it, reused.token, { machineId: reused.machineId });
    await renewal(it, next.body.refresh_token, { machineId: reused.machineId });
    const first = await renewal(it, repeated.token, repeated);
    await plain.transact((tx) =>
      tx
        .updateTable('agents')
        .set({ machine_id: null })
        .where('machine_id', '=', unbound.machineId)
        .execute(),
    );
    moved.machineId = 'machine-of-another';
    const answers = await renewAll();
    expect(statusesOf(answers)).toEqual([401, 403, 200, 200, 200, 200]);
    expect(answers[2]?.body.refresh_token).toBe(first.body.refresh_token);
    expect((await families()).map(({ cur_seq }) => cur_seq)).toEqual([3, 1, 2, 2, 2, 2]);
    const counted = (await eventTypes(it)).filter((type) => type !== 'AGENT_ENROLLED').sort();
    expect(counted).toEqual([
      ...['MACHINE_BOUND', 'MACHINE_ID_MISMATCH', 'REFRESH_GRACE_USED', 'REFRESH_TOKEN_REUSE'],
    ]);
  });

  test('a family that another transaction has locked delays no other one', async () => {
    const { it, hosts, families, plain } = await setUp();
    const [locked, ...others] = hosts;
    const [family] = await families();
    if (!locked || !family) throw new Error('there are six hosts');
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const holding = Promise.withResolvers<void>();
    const holder = plain.transact(async (tx) => {
      await sql`SELECT 1 FROM refresh_families WHERE id = ${family.id} FOR UPDATE`.execute(tx);
      holding.resolve();
      await mayEnd;
    });
    await holding.promise;
    const waiting = renewal(it, locked.token, locked);
    const rest = await Promise.all(others.map((host) => renewal(it, host.token, host)));
    expect(statusesOf(rest)).toEqual(all(200).slice(1));
    expect((await families())[0]?.cur_seq).toBe(1);
    end();
    await holder;
    expect((await waiting).status).toBe(200);
  });

  test('a row that cannot be judged fails its own renewal alone', async () => {
    const { renewAll, families, plain } = await setUp();
    const [family] = await families();
    await plain.transact((tx) =>
      tx
        .updateTable('refresh_families')
        .set({ displaced_hashes: '{}', cur_hash: 'unknown' })
        .where('id', '=', family?.id ?? '')
        .execute(),
    );
    expect(statusesOf(await renewAll())).toEqual([500, ...all(200).slice(1)]);
  });

  test('one that always loses a race (40001) takes no other one with it', async () => {
    const { renewAll, families, fault } = await setUp();
    const [unlucky] = await families();
    fault.strike = (tx) =>
      sql
        .raw(`DO $$ BEGIN IF EXISTS (SELECT 1 FROM refresh_families WHERE id = '${unlucky?.id}' AND cur_seq = 2)
          THEN RAISE EXCEPTION USING ERRCODE = '40001'; END IF; END $$`)
        .execute(tx);
    expect(statusesOf(await renewAll())).toEqual([503, ...all(200).slice(1)]);
    expect((await families()).map(({ cur_seq }) => cur_seq)).toEqual([1, ...all(2).slice(1)]);
  });

  test('a connection that is cut before the commit: 503 for all, nothing is used up', async () => {
    const { renewAll, families, fault, plain } = await setUp();
    fault.strike = async (tx) => {
      const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(tx);
      await sql`SELECT pg_terminate_backend(${rows[0]?.pid ?? 0})`.execute(plain.read);
    };
    const refused = await renewAll();
    expect(statusesOf(refused)).toEqual(all(503));
    expect(refused.every(({ headers }) => Number(headers['retry-after']) > 0)).toBe(true);
    expect((await families()).map(({ cur_seq }) => cur_seq)).toEqual(all(1));
    fault.strike = null;
    expect(statusesOf(await renewAll())).toEqual(all(200));
  });

  test('a commit whose answer is lost: 503, the server repeats nothing, and each host repeats once', async () => {
    const { renewAll, families, fault, counts } = await setUp();
    fault.after = () => {
      throw new DatabaseFault('the connection is gone');
    };
    expect(statusesOf(await renewAll())).toEqual(all(503));
    expect(counts().transactions).toBe(1);
    expect((await families()).map((one) => [one.cur_seq, one.prev_grace_used])).toEqual(
      all(2).map((n) => [n, 0]),
    );
    fault.after = null;
    expect(statusesOf(await renewAll())).toEqual(all(200));
    expect((await families()).map((one) => [one.cur_seq, one.prev_grace_used])).toEqual(
      all(2).map((n) => [n, 1]),
    );
  });
});

test.each(ENGINES)(
  'renewals that come one at a time wait for one another on $name, the first does not',
  async (engine) => {
    const it = createAgentsApp(await engine.open());
    const hosts: RenewalRequest[] = [];
    for (let n = 0; n < HOSTS; n++) {
      const machineId = `machine-${n}`;
      const token = parseRefreshToken((await enrol(it, machineId)).refresh_token);
      if (!token || !isMachineId(machineId)) throw new Error('the token of an enrolment can be read');
      hosts.push({ token, machineId, requestId: null });
    }
    const rests: (() => void)[] = [];
    const renew = createRenewals(it.renewal, () => new Promise((resolve) => rests.push(resolve)));
    const answered: number[] = [];
    const renewing: Promise<unknown>[] = [];
    const begin = async (n: number) => {
      const host = hosts[n];
      if (!host) throw new Error(`there are ${HOSTS} hosts`);
      renewing.push(renew(host).then(({ ok }) => ok && answered.push(n)));
      await turn();
    };
    await begin(0);
    await expect.poll(() => answered).toEqual([0]);
    for (let n = 1; n < HOSTS; n++) await begin(n);
    expect(answered).toEqual([0]);
    rests[0]?.();
    await Promise.all(renewing);
    expect(answered.toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(rests).toHaveLength(2);
  },
);

test.each(ENGINES)(
  'a renewal whose client has gone changes nothing on $name, those beside it are done',
  async (engine) => {
    const database = await engine.open();
    const it = createAgentsApp(database);
    const renew = createRenewals(it.renewal, async () => {});
    const asked = [true, false, true].map(async (isHere, n) => {
      const machineId = `machine-${n}`;
      const token = parseRefreshToken((await enrol(it, machineId)).refresh_token);
      if (!token || !isMachineId(machineId)) throw new Error('the token of an enrolment can be read');
      return { token, machineId, requestId: null, isAwaited: () => isHere };
    });
    const outcomes = await Promise.allSettled((await Promise.all(asked)).map(renew));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'unavailable' } });
    const families = await database.read
      .selectFrom('refresh_families')
      .innerJoin('agents', 'agents.id', 'refresh_families.agent_id')
      .select('cur_seq')
      .orderBy('machine_id')
      .execute();
    expect(families.map(({ cur_seq }) => cur_seq)).toEqual([2, 1, 2]);
  },
);
