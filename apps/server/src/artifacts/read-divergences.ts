import type { Db } from '../platform/db/engine.ts';
import { type DistrustRow, distrustsOf, hasDoubts } from './distrust-store.ts';
import type { BoundDivergence } from './divergence-rules.ts';
import { algorithmOf, identityKey, type Sighting } from './identity-rules.ts';
import { factsOfArtifact, readDoubts } from './settle-divergence.ts';
import { passes, settle } from './standing-rules.ts';
import { divergencesOf } from './store.ts';

/** A plan, by its host's sightings, which are asked for only where the fleet has doubts. */
export interface PlanSightings {
  readonly agentId: string;
  readonly sightings: () => readonly Sighting[];
}

/**
 * What the ledger blocks in each plan, in the given order. A hash without recorded hosts counts as reported by the plan's
 * host, unless that is set aside. A plan of a host that is set aside, or was until a moment ago, is compared with the
 * whole ledger, which lacks that host's reports. Without doubts in the whole fleet this costs one read.
 */
export async function readBoundDivergences(
  db: Db,
  unread: readonly PlanSightings[],
): Promise<BoundDivergence[][]> {
  if (unread.length === 0 || !(await hasDoubts(db))) return unread.map(() => []);
  const plans = unread.map(({ agentId, sightings }) => ({ agentId, sightings: sightings() }));
  const asked = plans.flatMap(({ sightings }) => sightings);
  if (asked.length === 0) return plans.map(() => []);
  const distrusts = await distrustsOf(
    db,
    plans.map(({ agentId }) => agentId),
  );
  const rows = await divergencesOf(db, asked);
  const diverging = new Set(rows.map((row) => identityKey({ ...row, algorithm: algorithmOf(row) })));
  const isDoubted = (agentId: string, sighting: Sighting) =>
    isHeldAgainstAll(distrusts.get(agentId)) || diverging.has(identityKey(sighting));
  const doubted = plans.map(({ agentId, sightings }) =>
    sightings.filter((sighting) => isDoubted(agentId, sighting)),
  );
  if (doubted.every((some) => some.length === 0)) return plans.map(() => []);
  const doubts = await readDoubts(db, doubted.flat(), rows);
  return plans.map(({ agentId }, i) => {
    const sightings = doubted[i] ?? [];
    const distrust = distrusts.get(agentId);
    const counts = !distrust || distrust.lifted_at !== null;
    const own = counts ? Map.groupBy(sightings, identityKey) : new Map<string, Sighting[]>();
    return sightings.flatMap((sighting) => {
      const key = identityKey(sighting);
      const facts = factsOfArtifact(doubts, key, [sighting.hash]);
      const claims = new Map(facts.claims);
      for (const { hash } of own.get(key) ?? []) {
        const told = doubts.ledger.get(key)?.get(hash) ?? [];
        claims.set(hash, Math.max(told.length, 1));
      }
      if (passes(settle({ ...facts, claims }).standings.get(sighting.hash))) return [];
      const { name, version, algorithm, hash } = sighting;
      const divergenceId = doubts.divergences.get(key)?.id ?? null;
      return [{ divergenceId, package: name, version, algorithm, hash }];
    });
  });
}

/** The reports of a host from its time aside are not in the ledger until they are recorded. */
function isHeldAgainstAll(distrust: DistrustRow | undefined): boolean {
  return distrust !== undefined && (distrust.lifted_at === null || distrust.noted_at === null);
}
