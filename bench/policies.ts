import { join } from 'node:path';
import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import type { MatchedPolicy } from '../apps/server/src/policy-runs/match-rules.ts';
import { collect, createTurn } from '../apps/server/src/policy-runs/run-policies.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { STANDING_TERMS } from '../apps/server/src/testing/standing.ts';
import { createTestPlatform } from '../apps/server/src/testing/test-platform.ts';
import { makeListFleet } from './list-fleet.ts';
import { median } from './processes.ts';
import type { BenchOptions } from './run.ts';

const HOSTS = 10_000;
const UPDATES = 200_000;
const POLICIES = 100;
const GOAL_SECONDS = 2;

/**
 * Which updates 100 policies ask for on 10,000 hosts. What they asked for is refused already, as on any pass but the
 * first, so that every host and every update is looked at.
 */
export async function benchPolicies({
  rounds,
  engines,
  say,
}: BenchOptions): Promise<Record<string, unknown>> {
  const result: Record<string, unknown> = {};
  for (const engine of engines) {
    const folder = tmpDir('tidegate-bench-');
    const postgres = engine === 'postgres' ? await startPostgres() : null;
    if (postgres && 'missing' in postgres) {
      result[engine] = postgres;
      continue;
    }
    const database = postgres
      ? openPostgres(await postgres.createDatabase(), databaseOptions())
      : openSqlite(join(folder.path, 'tidegate.db'), databaseOptions());
    try {
      await makeListFleet(database, { hosts: HOSTS, updates: UPDATES, events: 100 });
      const seconds: number[] = [];
      let compared = 0;
      for (let round = 1; round <= rounds; round++) {
        compared = 0;
        const reasonOf = () => {
          compared += 1;
          return 'unproven' as const;
        };
        const began = performance.now();
        const platform = createTestPlatform(database);
        const isStopped = () => false;
        await collect(
          { platform },
          { policies: policies(), refused: { reasonOf }, isStopped, turn: createTurn() },
        );
        seconds.push((performance.now() - began) / 1_000);
        say(`${engine} ${round}/${rounds}: ${seconds.at(-1)?.toFixed(2)} s, ${compared} requests`);
      }
      const found = median(seconds);
      result[engine] = { seconds: Math.round(found * 100) / 100, compared, isReached: found < GOAL_SECONDS };
    } finally {
      await database.close();
      await postgres?.stop();
      folder.remove();
    }
  }
  return result;
}

/** Policies as fleets have them: for everybody and for groups, by patterns, with exceptions. */
function policies(): MatchedPolicy[] {
  return Array.from({ length: POLICIES }, (_, n) => {
    const scope: PolicyScope =
      n % 10 === 0 ? { kind: 'all' } : { kind: 'some', groups: [`group-${n % 40}`], hosts: [] };
    const packages = n % 3 === 0 ? ['*'] : [`*-${n}*`, `lib*${n}`, 'openssl'];
    const terms = {
      ...STANDING_TERMS,
      ecosystems: n % 2 === 0 ? (['apt', 'dnf'] as const) : (['npm', 'pypi'] as const),
      ...{ packages, except_packages: ['linux-*', 'postgresql*'] },
    };
    return { sha256: String(n), scope, terms: { ...terms, ecosystems: [...terms.ecosystems] } };
  });
}
