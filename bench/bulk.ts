import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { insertUpdates } from './approvable-updates.ts';
import { atRest } from './at-rest.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import { logIn } from './operator-client.ts';
import { median, pinLoad } from './processes.ts';
import { flagsOf } from './rounds.ts';
import type { BenchOptions } from './run.ts';

const AGENTS = 500;
const UPDATES = 10_000;
const UPDATES_OF_AGENT = UPDATES / AGENTS;

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
        prepare: (database, agentIds) => insertUpdates(database, { agentIds, each: UPDATES_OF_AGENT }),
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

const Answer = Type.Object({ approved: Type.Array(Type.Object({ token_id: Type.String() })) });

async function approveAll(fleet: BenchServer): Promise<Run> {
  const call = await logIn(fleet.url);
  await atRest(() => fleet.cpuUs().server);
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
