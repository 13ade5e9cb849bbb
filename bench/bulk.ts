import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { PlanAction } from '@tidegate/protocol/plan';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { insertInstalled } from '../apps/server/src/testing/installed-rows.ts';
import { planDigest } from '../apps/server/src/updates/store-plan.ts';
import { setDigest } from '../apps/server/src/updates/update-set.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import { logIn } from './operator-client.ts';
import { median, pinLoad } from './processes.ts';
import type { BenchOptions } from './run.ts';

const AGENTS = 500;
const UPDATES = 10_000;
const UPDATES_OF_AGENT = UPDATES / AGENTS;
/** Packages in the plan of each update: the one that is updated, and those that are installed with it. */
const CLOSURE = 5;
const ROWS = 250;
/** A server that uses less CPU than this within the window has nothing to do. */
const REST_CPU_US = process.env.TIDEGATE_BENCH_PROFILE === undefined ? 20_000 : 200_000; // a profiler samples always
const REST_WINDOW_MS = 1_000;

interface Run {
  seconds: number;
  cpuSeconds: number;
  cpuWithDatabaseSeconds: number;
}

/**
 * One request approves 10,000 updates whose plans contain only clear packages, as one transaction of each host, whose
 * plan is there; each round has its own server.
 */
export async function benchBulk(options: BenchOptions): Promise<Record<string, unknown>> {
  const { rounds, say } = options;
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    const runs: Run[] = [];
    for (let round = 1; round <= rounds; round++) {
      const fleet = await startFleet(engine, {
        agents: AGENTS,
        prepare: insertUpdates,
        nodeFlags: flagsOf(engine),
      });
      if ('missing' in fleet) {
        result[engine] = fleet;
        break;
      }
      try {
        const run = await approveAll(fleet);
        runs.push(run);
        say(
          `${engine} ${round}/${rounds}: ${run.seconds.toFixed(2)} s, ${run.cpuSeconds.toFixed(2)} s of CPU, with the database ${run.cpuWithDatabaseSeconds.toFixed(2)} s`,
        );
      } finally {
        await fleet.stop();
      }
    }
    if (runs.length === 0) continue;
    const of = (key: keyof Run) => Math.round(median(runs.map((run) => run[key])) * 100) / 100;
    result[engine] = {
      seconds: of('seconds'),
      cpuSeconds: of('cpuSeconds'),
      cpuWithDatabaseSeconds: of('cpuWithDatabaseSeconds'),
    };
  }
  return result;
}

function flagsOf(engine: string): string[] {
  const folder = process.env.TIDEGATE_BENCH_PROFILE;
  return folder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', join(folder, engine)];
}

const Answer = Type.Object({ approved: Type.Array(Type.Object({ token_id: Type.String() })) });

async function approveAll(fleet: BenchServer): Promise<Run> {
  const call = await logIn(fleet.url);
  await atRest(fleet);
  const before = fleet.cpuUs();
  const startMs = performance.now();
  const request = { filter: { state: 'pending' }, confirm_count: UPDATES };
  const { approved } = Value.Parse(Answer, await call('POST', '/api/v1/updates/approve', request));
  const seconds = (performance.now() - startMs) / 1_000;
  if (approved.length !== UPDATES) throw new Error(`only ${approved.length} were approved`);
  const tokens = new Set(approved.map((one) => one.token_id)).size;
  if (tokens !== AGENTS) throw new Error(`${tokens} tokens for ${AGENTS} hosts`);
  const after = fleet.cpuUs();
  const cpuSeconds = (after.server - before.server) / 1_000_000;
  const database = (after.database - before.database) / 1_000_000;
  return { seconds, cpuSeconds, cpuWithDatabaseSeconds: cpuSeconds + database };
}

/** A newly started server first counts the badges of all updates, which is not part of the request. */
async function atRest(fleet: BenchServer): Promise<void> {
  for (let used = Number.POSITIVE_INFINITY; used > REST_CPU_US; ) {
    const before = fleet.cpuUs().server;
    await setTimeout(REST_WINDOW_MS);
    used = fleet.cpuUs().server - before;
  }
}

/** The same packages on every host, each installed in one version and known to be clear in both. */
async function insertUpdates(database: Database, agentIds: readonly string[]): Promise<void> {
  const nowMs = Date.now();
  const closures = Array.from({ length: UPDATES_OF_AGENT }, (_, n) =>
    Array.from({ length: CLOSURE }, (__, i) => actionOf(`package-${n}-${i}`)),
  );
  await database.transact(async (tx) => {
    const names = closures.flat().map(({ name }) => name);
    const checks = names.flatMap((name) =>
      ['1.0-1', '1.1-1'].map((version) => ({
        ...{ ecosystem: 'Debian:12', name, version, verdict: 'clear' as const, advisory_ids: '[]' },
        ...{ checked_at: nowMs, source: 'bench', snapshot: 'bench' },
      })),
    );
    for (const some of parts(checks)) await tx.insertInto('advisory_checks').values(some).execute();
  });
  for (const [a, agentId] of agentIds.entries()) {
    const joint = {
      id: `01900000-0000-7000-a002-${a.toString(16).padStart(12, '0')}`,
      actions: closures.flat(),
    };
    const rows = closures.map((actions, n) => {
      const serial = (a * UPDATES_OF_AGENT + n).toString(16).padStart(12, '0');
      return {
        id: `01900000-0000-7000-a000-${serial}`,
        planId: `01900000-0000-7000-a001-${serial}`,
        actions,
      };
    });
    await database.transact(async (tx) => {
      const installed = closures.flat().map(({ name }) => ({
        ...{ agent_id: agentId, ecosystem: 'apt', name, arch: 'amd64', version: '1.0-1' },
        ...{ source_name: name, source_version: '1.0-1', held: 0 },
      }));
      for (const some of parts(installed)) await insertInstalled(tx, some);
      await tx
        .insertInto('updates')
        .values(
          rows.map(({ id, planId, actions: [top] }) => ({
            ...{ id, agent_id: agentId, ecosystem: 'apt', name: top?.name ?? '', arch: 'amd64' },
            ...{ current_version: '1.0-1', available_version: '1.1-1', security: 0, state: 'pending' },
            ...{ out_of_band: 0, plan_id: planId, verdict: 'clear', discovered_at: nowMs, updated_at: nowMs },
          })),
        )
        .execute();
      await tx
        .insertInto('update_plans')
        .values(
          [joint, ...rows.map(({ planId, actions }) => ({ id: planId, actions }))].map(({ id, actions }) => ({
            ...{ id, agent_id: agentId, resolved_at: nowMs, received_at: nowMs },
            ...{ actions: JSON.stringify(actions), plan_sha256: planDigest({ actions }) },
          })),
        )
        .execute();
      const set = { set_sha256: setDigest(rows.map(({ id }) => id)), plan_id: joint.id, set_at: nowMs };
      await tx.insertInto('plan_sets').values(set).execute();
    });
  }
}

function actionOf(name: string): PlanAction {
  return {
    action: 'upgrade',
    name,
    arch: 'amd64',
    from_version: '1.0-1',
    to_version: '1.1-1',
    source_name: name,
    source_version: '1.1-1',
    origin: 'Debian:12/stable',
    artifact: {
      filename: `${name}_1.1-1_amd64.deb`,
      url: `http://deb.debian.org/debian/pool/main/p/${name}_1.1-1_amd64.deb`,
      size_bytes: 123_456,
      sha256: Buffer.from(name.padEnd(32, '-')).toString('hex').slice(0, 64),
    },
  };
}

function parts<T>(rows: readonly T[]): T[][] {
  const found: T[][] = [];
  for (let i = 0; i < rows.length; i += ROWS) found.push(rows.slice(i, i + ROWS));
  return found;
}
