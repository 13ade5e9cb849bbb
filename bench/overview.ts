import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { startFleet } from './fleet.ts';
import { type Call, logIn } from './operator-client.ts';
import { median, pinLoad } from './processes.ts';
import type { BenchOptions } from './run.ts';

const AGENTS = 100_000;
const UPDATES_OF_AGENT = 5;
const STEP_AGENTS = 5_000;
const ASKED = 40;
const PAUSE_MS = 500;

/** The first screen of a large fleet, requested repeatedly while its counts are renewed. */
export async function benchOverview(options: BenchOptions): Promise<Record<string, unknown>> {
  const { say } = options;
  pinLoad();
  const result: Record<string, unknown> = {};
  for (const engine of options.engines) {
    say(`${engine}: writing ${AGENTS} hosts and ${AGENTS * UPDATES_OF_AGENT} updates`);
    const fleet = await startFleet(engine, { agents: AGENTS, prepare: insertUpdates });
    if ('missing' in fleet) {
      result[engine] = fleet;
      continue;
    }
    try {
      const call = await logIn(fleet.url);
      const firstMs = await timeOf(call);
      const before = fleet.cpuUs();
      const times: number[] = [];
      for (let i = 0; i < ASKED; i++) {
        await pause(PAUSE_MS);
        times.push(await timeOf(call));
      }
      const after = fleet.cpuUs();
      result[engine] = {
        firstMs: Math.round(firstMs),
        medianMs: Math.round(median(times) * 10) / 10,
        maxMs: Math.round(Math.max(...times) * 10) / 10,
        cpuShare: Math.round((after.server - before.server) / (ASKED * PAUSE_MS * 10)) / 100,
      };
      say(`${engine}: ${JSON.stringify(result[engine])}`);
    } finally {
      await fleet.stop();
    }
  }
  return result;
}

async function timeOf(call: Call): Promise<number> {
  const startMs = performance.now();
  await call('GET', '/api/v1/overview');
  return performance.now() - startMs;
}

const VERDICTS = sql.raw(
  "CASE n % 10 WHEN 0 THEN 'vulnerable' WHEN 1 THEN 'unchecked' WHEN 2 THEN NULL ELSE 'clear' END",
);
const STATES = sql.raw(
  "CASE n % 20 WHEN 0 THEN 'approved' WHEN 1 THEN 'failed' WHEN 2 THEN 'installed' ELSE 'pending' END",
);

async function insertUpdates(database: Database, agentIds: readonly string[]): Promise<void> {
  const nowMs = sql.lit(Date.now());
  const isSqlite = database.engine === 'sqlite';
  const hex = sql.raw(isSqlite ? "printf('%012x', n)" : "lpad(to_hex(n), 12, '0')");
  for (let from = 0; from < agentIds.length; from += STEP_AGENTS) {
    const ids = JSON.stringify(agentIds.slice(from, from + STEP_AGENTS));
    const hosts = isSqlite
      ? sql`SELECT value AS id, key AS k FROM json_each(${ids})`
      : sql`SELECT value AS id, k - 1 AS k FROM json_array_elements_text(${ids}::json) WITH ORDINALITY AS j (value, k)`;
    const first = sql.lit(from * UPDATES_OF_AGENT);
    const each = sql.lit(UPDATES_OF_AGENT);
    await database.transact(async (tx) => {
      await sql`INSERT INTO updates (id, agent_id, ecosystem, name, arch, current_version, available_version, security,
          state, out_of_band, verdict, known_exploited, fixes, discovered_at, updated_at)
        SELECT '01900000-0000-7000-a000-' || ${hex}, agent_id, 'apt', 'package-' || u, 'amd64', '1', '2', 0,
          ${STATES}, 0, ${VERDICTS}, CASE WHEN n % 100 = 0 THEN 1 ELSE 0 END, n % 4,
          ${nowMs} - (n % 1000) * CAST(3600000 AS BIGINT) - n, ${nowMs}
        FROM (
          SELECT hosts.id AS agent_id, numbers.u AS u, CAST(${first} + hosts.k * ${each} + numbers.u AS INTEGER) AS n
          FROM (${hosts}) AS hosts
          CROSS JOIN (SELECT 0 AS u UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS numbers
        ) AS rows`.execute(tx);
    });
  }
  await database.transact(async (tx) => {
    await sql`INSERT INTO agent_presence (agent_id, last_seen_at) SELECT id, ${nowMs} FROM agents`.execute(
      tx,
    );
  });
}
