import { UPDATE_STATES } from '@tidegate/protocol/states';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { markAgentDeleted } from '../agents/store.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { setVerdicts, swapStates } from './many-store.ts';
import { SUMMED } from './package-store.ts';
import { fixRank, SEVERITIES_RISING } from './queue-rules.ts';
import { compareAndSwapState, insertUpdates, refreshUpdate, setRecommended } from './store.ts';
import { foldSums } from './sums-store.ts';

const HOSTS = 4;
const ROWS = 24;

const idOf = (n: number) => `01900000-0000-7000-9000-${n.toString(16).padStart(12, '0')}`;
const row = fc.nat(ROWS - 1);
const rows = fc.uniqueArray(row, { minLength: 1, maxLength: 6 });
const state = fc.constantFrom(...UPDATE_STATES);
const severity = fc.option(fc.constantFrom(...SEVERITIES_RISING));
const offer = fc.record({
  n: row,
  host: fc.nat(HOSTS - 1),
  name: fc.constantFrom('curl', 'é'),
  version: fc.constantFrom('1', '2'),
  state,
  security: fc.nat(1),
  recommended: fc.constantFrom(15, 8, 7, 0),
});
type Offer = typeof offer extends fc.Arbitrary<infer T> ? T : never;
type Act = (database: Database, hosts: readonly string[]) => Promise<unknown>;

const inOne =
  (work: (tx: Tx, hosts: readonly string[]) => Promise<unknown>): Act =>
  (database, hosts) =>
    database.transact((tx) => work(tx, hosts));

/** Every write of an update, the deletion of a host, and the folding after them. */
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: fc.uniqueArray(offer, { selector: ({ n }) => n, minLength: 1 }).map(insert) },
  fc.tuple(row, state, state).map(([n, from, to]) => inOne((tx) => move(tx, { n, from, to }))),
  fc.tuple(rows, state).map(([some, to]) => inOne((tx) => moveMany(tx, some, to))),
  fc
    .tuple(rows, severity, fc.option(fc.nat(1)), fc.option(fc.nat(1)))
    .map(([some, worst, exploited, fixes]) =>
      inOne((tx) => {
        const facts = {
          verdict: 'clear',
          severity: worst,
          known_exploited: exploited,
          epss: null,
          queue_rank: null,
        };
        const parts = { introduces: null, stays: null, fixes, stopped_under: null };
        const fix_rank = fixRank({ fixes, severity: worst, exploited: exploited === 1 });
        const fix = { fixes_severity: worst, fixes_exploited: exploited, fix_rank };
        const badges = some.map((n) => ({ updateId: idOf(n), badge: { ...facts, ...parts, ...fix } }));
        return setVerdicts(tx, { badges, nowMs: 2 });
      }),
    ),
  fc.tuple(row, fc.nat(1)).map(([n, security]) =>
    inOne((tx) => {
      const facts = { current_version: '0', origin: null, security, size_bytes: null, updated_at: 2 };
      const offered = { offers: 0, change: null };
      return refreshUpdate(tx, idOf(n), { ...facts, ...offered });
    }),
  ),
  fc
    .nat(HOSTS - 1)
    .map((n) => inOne((tx, hosts) => markAgentDeleted(tx, { agentId: hosts[n] ?? '', atMs: 2 }))),
  fc.tuple(fc.nat(HOSTS - 1), fc.constantFrom('debian', 'ubuntu')).map(([n, os_id]) =>
    inOne((tx, hosts) =>
      tx
        .updateTable('agents')
        .set({ os_id })
        .where('id', '=', hosts[n] ?? '')
        .execute(),
    ),
  ),
  fc
    .tuple(row, fc.constantFrom(15, 8, 7, 0))
    .map(([n, recommended]) => inOne((tx) => setRecommended(tx, { id: idOf(n), recommended }))),
  rows.map((some) => inOne((tx) => tx.deleteFrom('updates').where('id', 'in', some.map(idOf)).execute())),
  fc.constant<Act>((database) => (database.engine === 'sqlite' ? Promise.resolve() : foldSums(database))),
);

function insert(offers: readonly Offer[]): Act {
  return inOne((tx, hosts) => insertRows(tx, hosts, offers));
}

async function insertRows(tx: Tx, hosts: readonly string[], offers: readonly Offer[]): Promise<void> {
  const { rows: known } = await sql<{ id: string }>`SELECT id FROM updates`.execute(tx);
  const fresh = offers.filter(({ n }) => !known.some(({ id }) => id === idOf(n)));
  const values = fresh.map(({ n, host, version, ...facts }) => ({
    ...{ id: idOf(n), agent_id: hosts[host] ?? '', ecosystem: 'apt', arch: `${n}`, out_of_band: 0 },
    ...{ current_version: '0', available_version: version, discovered_at: n, updated_at: n, ...facts },
  }));
  await insertUpdates(tx, values);
}

async function moveEach(database: Database): Promise<void> {
  const all = Array.from({ length: ROWS }, (_, n) => n);
  await database.transact((tx) => moveMany(tx, all, 'superseded'));
}

function move(tx: Tx, { n, from, to }: { n: number; from: Offer['state']; to: Offer['state'] }) {
  const change = { state: to, state_reason: null, updated_at: 2 };
  return compareAndSwapState(tx, { updateId: idOf(n), from, change });
}

async function moveMany(tx: Tx, some: readonly number[], to: Offer['state']): Promise<void> {
  const ids = some.map(idOf);
  const held = await tx.selectFrom('updates').select(['id', 'state']).where('id', 'in', ids).execute();
  const changes = held.flatMap(({ id, state: is }) => {
    const from = UPDATE_STATES.find((one) => one === is);
    const how = { reason: null, actor: 'sweep', approvalId: 'a', notBefore: null };
    return from === undefined ? [] : [{ updateId: id, from, to, ...how }];
  });
  await swapStates(tx, { changes, nowMs: 2 });
}

const ofState = (name: string) =>
  sql`sum(CASE WHEN u.state = ${sql.lit(name)} THEN 1 ELSE 0 END) AS ${sql.ref(name)}`;

/** The same figures, counted from the updates alone. */
async function countedAnew({ read }: Database) {
  const severities = SEVERITIES_RISING.map(
    (name) =>
      sql`sum(CASE WHEN u.severity = ${sql.lit(name)} THEN 1 ELSE 0 END) AS ${sql.ref(`severity_${name}`)}`,
  );
  const { rows: found } = await sql<
    Record<string, unknown>
  >`SELECT u.ecosystem, u.name, u.available_version AS version,
      count(*) AS updates, sum(u.security) AS security, ${sql.join([...UPDATE_STATES.map(ofState), ...severities])},
      sum(CASE WHEN u.known_exploited = 1 THEN 1 ELSE 0 END) AS exploited,
      sum(CASE WHEN u.known_exploited = 0 THEN 1 ELSE 0 END) AS unexploited
    FROM updates AS u JOIN agents AS a ON a.id = u.agent_id WHERE a.deleted_at IS NULL
    GROUP BY u.ecosystem, u.name, u.available_version ORDER BY 1, 2, 3`.execute(read);
  const { rows: hosts } =
    await sql`SELECT u.ecosystem, u.name, count(DISTINCT u.agent_id) AS hosts FROM updates AS u
    JOIN agents AS a ON a.id = u.agent_id WHERE a.deleted_at IS NULL GROUP BY u.ecosystem, u.name ORDER BY 1, 2`.execute(
      read,
    );
  const isAs = (condition: string) => sql`sum(CASE WHEN ${sql.raw(condition)} THEN 1 ELSE 0 END)`;
  const { rows: pending } = await sql`SELECT a.id AS agent_id, count(u.id) AS pending,
      ${isAs('u.fixes = 1 AND u.fixes_exploited = 1')} AS exploited,
      ${isAs("u.fixes = 1 AND u.fixes_severity = 'critical'")} AS critical,
      ${isAs("u.fixes = 1 AND u.fixes_severity = 'high'")} AS high,
      ${isAs('u.fixes = 1')} AS fixing, ${isAs('u.fixes IS NOT NULL')} AS judged
    FROM agents AS a LEFT JOIN updates AS u ON u.agent_id = a.id AND u.state = 'pending' AND u.recommended >= 8
    GROUP BY a.id ORDER BY 1`.execute(read);
  const { rows: systems } = await sql`SELECT u.id, a.os_id AS host_os_id FROM updates AS u
    JOIN agents AS a ON a.id = u.agent_id ORDER BY 1`.execute(read);
  return {
    versions: found.map(inNumbers),
    hosts: hosts.map(inNumbers),
    pending: pending.map(inNumbers),
    systems,
  };
}

async function kept({ read }: Database) {
  const columns = SUMMED.filter((column) => column !== 'hosts');
  const sums = sql.join(columns.map((column) => sql`sum(${sql.ref(column)}) AS ${sql.ref(column)}`));
  const { rows: versions } = await sql`SELECT ecosystem, name, version, ${sums} FROM package_counts
    GROUP BY ecosystem, name, version HAVING sum(updates) > 0 ORDER BY 1, 2, 3`.execute(read);
  const { rows: hosts } = await sql`SELECT ecosystem, name, sum(hosts) AS hosts FROM package_counts
    GROUP BY ecosystem, name HAVING sum(updates) > 0 ORDER BY 1, 2`.execute(read);
  const { rows: pending } = await sql`SELECT agent_id, pending, exploited, critical, high, fixing, judged
    FROM host_sums ORDER BY 1`.execute(read);
  const { rows: systems } = await sql`SELECT id, host_os_id FROM updates ORDER BY 1`.execute(read);
  return {
    versions: versions.map(inNumbers),
    hosts: hosts.map(inNumbers),
    pending: pending.map(inNumbers),
    systems,
  };
}

/** PostgreSQL returns sums as texts. */
function inNumbers(one: unknown): Record<string, unknown> {
  const entries = Object.entries(one ?? {});
  const isText = (key: string) => ['ecosystem', 'name', 'version', 'agent_id'].includes(key);
  return Object.fromEntries(entries.map(([key, value]) => [key, isText(key) ? value : Number(value)]));
}

describe.each(ENGINES)('what is added up of updates on $name', (engine) => {
  test('equal a count of all updates, after any writes in any order', async () => {
    const empty = await engine.open();
    const hosts: string[] = [];
    for (let n = 0; n < HOSTS; n++) hosts.push((await insertTestAgent(empty, { n })).agentId);
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 25 }), async (acts) => {
        await empty.transact(async (tx) => {
          await tx.deleteFrom('updates').execute();
          await tx.updateTable('agents').set({ deleted_at: null }).execute();
        });
        for (const one of acts) {
          await one(empty, hosts);
          expect(await kept(empty)).toEqual(await countedAnew(empty));
        }
      }),
      { numRuns: engine.name === 'sqlite' ? 60 : 25 },
    );
  });

  test('hold for updates of many hosts at once, one of them deleted', async () => {
    const database = await engine.open();
    const hosts: string[] = [];
    for (let n = 0; n < HOSTS; n++) hosts.push((await insertTestAgent(database, { n })).agentId);
    const offers = Array.from({ length: ROWS }, (_, n): Offer => {
      const [name, version] = [n % 3 === 0 ? 'curl' : 'é', n % 5 === 0 ? '1' : '2'] as const;
      const facts = { security: n % 2, recommended: n % 3 === 0 ? 7 : 15 } as const;
      return { n, host: n % HOSTS, name, version, state: UPDATE_STATES[n % 5] ?? 'pending', ...facts };
    });
    await insert(offers)(database, hosts);
    await database.transact((tx) => markAgentDeleted(tx, { agentId: hosts[1] ?? '', atMs: 2 }));
    const counted = await countedAnew(database);
    expect(counted.versions.length).toBeGreaterThan(1);
    expect(await kept(database)).toEqual(counted);
    await moveEach(database);
    expect(await kept(database)).toEqual(await countedAnew(database));
  });
});

const ON_POSTGRES = ENGINES.filter(({ name }) => name === 'postgres');

describe.each(ON_POSTGRES)('what writers on $name leave to be added up', (engine) => {
  test('do not make a writer wait for another of the same package', async () => {
    const database = await engine.open();
    const hosts: string[] = [];
    for (let n = 0; n < HOSTS; n++) hosts.push((await insertTestAgent(database, { n })).agentId);
    const of = (n: number): Offer => ({
      n,
      host: n,
      name: 'curl',
      version: '1',
      state: 'pending',
      security: 0,
      recommended: 15,
    });
    await insert([of(0)])(database, hosts);
    await database.transact(async (tx) => {
      await insertRows(tx, hosts, [of(1)]);
      await insert([of(2)])(database, hosts);
      await database.transact((other) => move(other, { n: 0, from: 'pending', to: 'rejected' }));
      // The folder skips uncommitted rows.
      expect(await foldSums(database)).toBe(3);
    });
    expect(await kept(database)).toEqual(await countedAnew(database));
    expect(await foldSums(database)).toBe(1);
    expect(await foldSums(database)).toBe(0);
    expect(await kept(database)).toEqual(await countedAnew(database));
  });
});
