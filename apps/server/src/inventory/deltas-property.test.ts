import { createHash } from 'node:crypto';
import type { InventoryReport } from '@tidegate/protocol/agent-api';
import { deltaBetween, type NamedReport } from '@tidegate/protocol/inventory-delta';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { createLargeReports } from './large-reports.ts';
import { mountInventory } from './routes.ts';

const isLong = process.env.TIDEGATE_LONG === '1';
const RUNS = { sqlite: isLong ? 300 : 8, postgres: isLong ? 60 : 3 };
const STEPS = 50;

/** Few, so that they meet. Versions of the same order, and some without one, are among them. */
const WORLDS = {
  apt: {
    names: ['package-1', 'package-2'],
    arches: ['amd64', undefined],
    versions: ['1.0-1', '1.1-1', '1.01-1', 'not a version', 'nor this'],
  },
  npm: {
    names: ['kit', 'lib'],
    arches: ['/srv/a', '/srv/b'],
    versions: ['1.0.0', '1.2.0', '1.2.0+1', '2.0.0', 'not a version', 'nor this'],
  },
} as const;

/** What was spent, and tables of numbers that are drawn: `host_packages` has what they say. */
const UNCOMPARED = [
  ...['outsider_usage', 'package_identities', 'inventory_agents', 'installed_packages', 'inventory_changes'],
];

/** The tables that nearly every report writes: compared after each; all others at the end. */
const WRITTEN = [
  'agents',
  'host_packages',
  'inventory_reports',
  'updates',
  'update_history',
  'update_candidates',
];

const STATES = ['failed', 'rejected', 'installing', 'installed', 'superseded', 'pending', 'approved'];
const EDITS = ['install', 'install', 'remove', 'offer', 'withdraw', 'condition'] as const;

interface Edit {
  do: (typeof EDITS)[number];
  name: string;
  arch: string | undefined;
  version: string;
  from: string;
  origin: string | undefined;
  flag: boolean;
  offers: ('series' | 'newest')[] | undefined;
  candidates: string[] | undefined;
}
type Step =
  | { do: 'scan'; edits: Edit[]; agoMs: number; complete: boolean }
  | { do: 'change'; nth: number; state: string }
  /** The look-up of advisories finds that a version is the smallest fix. */
  | { do: 'fix'; nth: number };

function stepsOf(ecosystem: 'apt' | 'npm'): fc.Arbitrary<Step[]> {
  const { names, arches, versions } = WORLDS[ecosystem];
  const version = fc.constantFrom<string[]>(...versions);
  const ofNpm = <T>(values: fc.Arbitrary<T>) =>
    ecosystem === 'npm' ? fc.option(values, { nil: undefined }) : fc.constant(undefined);
  const edit = fc.record({
    do: fc.constantFrom(...EDITS),
    name: fc.constantFrom<string[]>(...names),
    arch: fc.constantFrom<(string | undefined)[]>(...arches),
    ...{ version, from: version, flag: fc.boolean() },
    origin: fc.constantFrom(undefined, 'main', 'security'),
    offers: ofNpm(fc.uniqueArray(fc.constantFrom('series', 'newest'), { minLength: 1 })),
    candidates: ofNpm(fc.uniqueArray(version, { maxLength: 3 })),
  });
  const scan = fc.record({
    do: fc.constant('scan' as const),
    edits: fc.array(edit, { minLength: 1, maxLength: 3 }),
    agoMs: fc.constantFrom(0, 0, 0, 2_500),
    complete: fc.constantFrom(true, true, true, true, true, true, false),
  });
  const nth = fc.nat(30);
  const change = fc.record({ do: fc.constant('change' as const), nth, state: fc.constantFrom(...STATES) });
  const fix = fc.record({ do: fc.constant('fix' as const), nth });
  const step = fc.oneof(
    { weight: 6, arbitrary: scan },
    { weight: 2, arbitrary: change },
    { weight: ecosystem === 'npm' ? 1 : 0, arbitrary: fix },
  );
  return fc.array(step, { minLength: STEPS, maxLength: STEPS });
}

describe.each(ENGINES)('deltas on $name', (engine) => {
  test.each(['apt', 'npm'] as const)(
    'leave exactly the rows that whole reports of %s leave, whatever is scanned and decided',
    async (ecosystem) => {
      const numRuns = RUNS[engine.name];
      let deltas = 0;
      await fc.assert(
        fc.asyncProperty(stepsOf(ecosystem), async (steps) => {
          const whole = await openServer(engine, ecosystem);
          const delta = await openServer(engine, ecosystem);
          const world: World = { packages: new Map(), updates: new Map(), condition: false };
          let base: NamedReport | null = null;
          for (const step of steps) {
            for (const { clock } of [whole, delta]) clock.advance(1_000);
            if (step.do !== 'scan') {
              for (const server of [whole, delta]) await server.change(step);
              continue;
            }
            for (const edit of step.edits) world.condition = apply(world, edit);
            const next = named(reportOf(world, { ...step, nowMs: whole.clock.now() }));
            const between: ReturnType<typeof deltaBetween> = base && deltaBetween(base, next);
            const first = between && (await delta.send('PATCH', between));
            if (first?.status === 200) deltas += 1;
            else expect(first?.status ?? 409).toBe(409);
            const answer = first?.status === 200 ? first : await delta.send('PUT', next.content);
            expect(answer).toEqual(await whole.send('PUT', next.content));
            expect(answer.status).toBe(200);
            base = next;
            expect(await delta.rows(WRITTEN)).toEqual(await whole.rows(WRITTEN));
          }
          expect(await delta.rows()).toEqual(await whole.rows());
          for (const { database } of [whole, delta]) await database.close();
        }),
        { numRuns, endOnFailure: !isLong },
      );
      expect(deltas).toBeGreaterThan(numRuns);
    },
    isLong ? 3_000_000 : 120_000,
  );
});

interface World {
  packages: Map<string, object>;
  updates: Map<string, object>;
  condition: boolean;
}

/** What goes, goes in all versions, so that a package is without offers now and then. */
function apply({ packages, updates, ...world }: World, edit: Edit): boolean {
  const { name, arch, version, from, origin, flag, offers, candidates } = edit;
  const key = `${name} ${arch} `;
  switch (edit.do) {
    case 'install':
      packages.set(key + version, { name, arch, version, origin, held: flag });
      break;
    case 'offer': {
      const facts = { origin, security: flag, offers, candidates };
      updates.set(key + version, { name, arch, current_version: from, available_version: version, ...facts });
      break;
    }
    case 'remove':
      for (const one of packages.keys()) if (one.startsWith(key)) packages.delete(one);
      break;
    case 'withdraw':
      for (const one of updates.keys()) if (one.startsWith(`${name} `)) updates.delete(one);
      break;
    case 'condition':
      return !world.condition;
  }
  return world.condition;
}

function reportOf(
  { packages, updates, condition }: World,
  { agoMs, complete, nowMs }: { agoMs: number; complete: boolean; nowMs: number },
): InventoryReport {
  const broken = { broken: [], more_broken: 1, left_files: [], more_left_files: 0, unread_folders: 0 };
  const report = {
    scanned_at: new Date(nowMs - agoMs).toISOString(),
    complete,
    packages: [...packages.values()],
    updates: [...updates.values()],
    ...(condition && { condition: { trouble: null, ...broken } }),
  };
  // As it arrives: without members that are undefined.
  return JSON.parse(JSON.stringify(report));
}

function named(content: InventoryReport): NamedReport {
  return { sha256: createHash('sha256').update(JSON.stringify(content)).digest('hex'), content };
}

async function openServer(engine: TestEngine, ecosystem: Ecosystem) {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  const large = createLargeReports(platform);
  onTestFinished(large.stop);
  const app = createSliceApp(platform);
  onTestFinished(() => app.close());
  mountInventory(app.routes, { platform, large });
  const { agentId, familyId } = await insertTestAgent(database, { n: 1 });
  for (const n of ecosystem === 'apt' ? [1, 2] : []) {
    const of = { agentId, n, state: 'approved', expiresAtMs: Date.UTC(2099, 0) };
    const { updateId } = await insertTestUpdate(database, of);
    const id = `c${n}`;
    const command = { id, agent_id: agentId, action: 'install_update', params: '{}', status: 'pending' };
    const times = { created_by: 'ada', created_at: 1, not_before: 1, expires_at: 9e15 };
    await writeRaw(database, 'agent_commands', { ...command, ...times });
    await writeRaw(database, 'command_updates', { command_id: id, update_id: updateId });
  }
  const tables = await tablesOf(database, engine.name);
  return {
    database,
    clock: platform.clock,
    async send(method: 'PUT' | 'PATCH', payload: object) {
      const answer = await app.inject({
        ...{ method, url: `/api/v1/agents/${agentId}/inventory/${ecosystem}`, payload },
        headers: { 'x-machine-id': 'machine-1', 'x-test-agent': agentId, 'x-test-family': familyId },
      });
      return { status: answer.statusCode, body: answer.json() };
    },
    async change(step: Exclude<Step, { do: 'scan' }>) {
      const rows = await database.read.selectFrom('updates').select('id').orderBy('id').execute();
      const id = rows[step.nth % Math.max(1, rows.length)]?.id;
      if (id === undefined) return;
      const set =
        step.do === 'fix'
          ? { offers: sql<number>`offers | 4` }
          : { state: step.state, updated_at: platform.now() };
      await database
        .transact((tx) => tx.updateTable('updates').set(set).where('id', '=', id).execute())
        // Another version of the row is open already.
        .catch((error: Error) => expect(error.message).toMatch(/unique/i));
    },
    /** Every row of every table, but for what the host has spent of its budgets. */
    async rows(of: readonly string[] = tables) {
      const all: Record<string, string[]> = {};
      for (const table of of) {
        const { rows } = await sql<object>`SELECT * FROM ${sql.table(table)}`.execute(database.read);
        const said = rows.map((row) => JSON.stringify({ ...row, package_id: undefined }));
        if (rows.length > 0) all[table] = said.toSorted();
      }
      return all;
    },
  };
}

async function tablesOf({ read }: Database, engine: TestEngine['name']): Promise<string[]> {
  const names =
    engine === 'sqlite'
      ? sql<{
          name: string;
        }>`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
      : sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables
          WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`;
  const { rows } = await names.execute(read);
  return [...rows.map(({ name }) => name).filter((name) => !UNCOMPARED.includes(name)), 'host_packages'];
}
