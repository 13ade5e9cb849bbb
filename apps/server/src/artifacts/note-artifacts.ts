import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { findAgent } from '../agents/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { identityKey, type Sighting, sightingsOf } from './identity-rules.ts';
import { raiseDivergences } from './raise-divergences.ts';
import { type ArtifactRow, insertArtifacts, readArtifacts } from './store.ts';

/**
 * Notes the artifacts of a plan in the ledger of the fleet, and raises what another host was told of with another
 * hash, in the transaction that stores the plan. Where all of them are known it costs two reads.
 */
export async function noteArtifacts(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  plan: { agentId: string; ecosystem: Ecosystem; actions: readonly PlanAction[] },
): Promise<void> {
  const agent = await findAgent(tx, plan.agentId);
  if (!agent) return;
  const host = { osId: agent.os_id, osArch: agent.os_arch };
  const sightings = sightingsOf({ ...plan, host });
  if (sightings.length === 0) return;
  const known = await firstSightings(tx, sightings);
  const rows = newRows(sightings, known, { agentId: agent.id, seenAtMs: platform.now() });
  for (const row of rows) known.set(identityKey(row), row);
  if (rows.length > 0 && (await insertArtifacts(tx, rows)) < rows.length) {
    // Another host was first in the meantime: its hashes are what these are held against.
    for (const [key, row] of await firstSightings(tx, sightings)) known.set(key, row);
  }
  const differing = sightings.flatMap((sighting) => {
    const first = known.get(identityKey(sighting));
    return first && first.hash !== sighting.hash ? [{ sighting, first }] : [];
  });
  await raiseDivergences(tx, platform, { agentId: agent.id, differing });
}

export type Ledger = Map<string, FirstSighting>;
export type FirstSighting = Omit<ArtifactRow, 'algorithm'> & Pick<Sighting, 'algorithm'>;

async function firstSightings(tx: Tx, sightings: readonly Sighting[]): Promise<Ledger> {
  const asked = new Map(sightings.map((sighting) => [identityKey(sighting), sighting]));
  const known: Ledger = new Map();
  for (const row of await readArtifacts(tx, sightings)) {
    const algorithm = row.algorithm === 'sha512' ? 'sha512' : 'sha256';
    const first = { ...row, algorithm } as const;
    if (asked.has(identityKey(first))) known.set(identityKey(first), first);
  }
  return known;
}

/** In the order of their keys: two plans that are stored at once take the rows of the ledger in one order. */
function newRows(
  sightings: readonly Sighting[],
  known: Ledger,
  { agentId, seenAtMs }: { agentId: string; seenAtMs: number },
): FirstSighting[] {
  const rows = new Map<string, FirstSighting>();
  for (const { ecosystem: _, ...sighting } of sightings) {
    const key = identityKey(sighting);
    if (known.has(key) || rows.has(key)) continue;
    rows.set(key, { ...sighting, agent_id: agentId, seen_at: seenAtMs });
  }
  return [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
