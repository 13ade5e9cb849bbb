import { ProbeResult, type ProbesState } from '@tidegate/protocol/probes';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { KeptProbes } from './probe-rules.ts';

const Kept = Type.Array(Type.Object({ ...ProbeResult.properties, sinceMs: Type.Integer() }));

/** Replaces what is kept of a host. The caller holds the host. */
export async function saveProbes(tx: Tx, agentId: string, kept: KeptProbes): Promise<void> {
  const row = {
    ...{ state: kept.state, since: kept.sinceMs, looked_at: kept.lookedAtMs },
    ...{ probes: JSON.stringify(kept.probes), red_told: kept.isRedTold ? 1 : 0, told_at: kept.toldAtMs },
  };
  await tx
    .insertInto('agent_probes')
    .values({ agent_id: agentId, ...row })
    .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(row))
    .execute();
}

/** Null: the host has not reported. */
export async function findProbes(db: Db, agentId: string): Promise<KeptProbes | null> {
  const row = await db
    .selectFrom('agent_probes')
    .selectAll()
    .where('agent_id', '=', agentId)
    .executeTakeFirst();
  return row ? keptOf(row) : null;
}

function keptOf(row: Tables['agent_probes']): KeptProbes {
  return {
    ...{ state: row.state, sinceMs: row.since, lookedAtMs: row.looked_at },
    probes: Value.Parse(Kept, JSON.parse(row.probes)),
    ...{ isRedTold: row.red_told === 1, toldAtMs: row.told_at },
  };
}

/** All probes of a host together, for those who wait for them. */
export interface LatestProbes {
  /** `unknown` without a time: the host has not reported. */
  readonly state: ProbesState;
  /** When the host looked; never later than the server heard of it. */
  readonly atMs: number | null;
  readonly sinceMs: number | null;
}

const UNREPORTED: LatestProbes = { state: 'unknown', atMs: null, sinceMs: null };

/** The newest report of each of these hosts, whether there is one or not. */
export async function latestProbes(db: Db, agentIds: readonly string[]): Promise<Map<string, LatestProbes>> {
  const latest = new Map<string, LatestProbes>(agentIds.map((id) => [id, UNREPORTED]));
  for (const some of chunks([...latest.keys()])) {
    const rows = await db
      .selectFrom('agent_probes')
      .select(['agent_id', 'state', 'looked_at', 'since'])
      .where('agent_id', 'in', some)
      .execute();
    for (const { agent_id, state, looked_at: atMs, since: sinceMs } of rows) {
      latest.set(agent_id, { state, atMs, sinceMs });
    }
  }
  return latest;
}
