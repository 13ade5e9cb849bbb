import type { HashAlgorithm } from '@tidegate/protocol/artifacts-api';
import type { Db } from '../platform/db/engine.ts';
import {
  type BoundDivergence,
  boundDivergences,
  type KnownDivergence,
  type Standing,
} from './divergence-rules.ts';
import { identityKey, type Sighting } from './identity-rules.ts';
import { divergencesOf, hasDivergences, hashesOf } from './store.ts';

/**
 * What of each plan is blocked because the fleet was told of it with another hash, in the order given. Where nothing
 * diverges in the whole fleet it costs one read.
 */
export async function readBoundDivergences(
  db: Db,
  plans: readonly (readonly Sighting[])[],
): Promise<BoundDivergence[][]> {
  const sightings = plans.flat();
  if (sightings.length === 0 || !(await hasDivergences(db))) return plans.map(() => []);
  const rows = await divergencesOf(db, sightings);
  const standings = Map.groupBy(
    await hashesOf(
      db,
      rows.map(({ id }) => id),
    ),
    ({ divergence_id: id }) => id,
  );
  const known = new Map<string, KnownDivergence>();
  for (const row of rows) {
    const algorithm: HashAlgorithm = row.algorithm === 'sha512' ? 'sha512' : 'sha256';
    const listed = (standings.get(row.id) ?? []).map(({ hash, standing }): [string, Standing] => [
      hash,
      standing,
    ]);
    known.set(identityKey({ ...row, algorithm }), { id: row.id, standings: new Map(listed) });
  }
  return plans.map((plan) => boundDivergences(plan, known));
}
