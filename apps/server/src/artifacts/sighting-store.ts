import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { byScope, type Named, namesOf, ownRows, versionsOf } from './named.ts';

export type SightingRow = Tables['artifact_sightings'];

/** Sightings of counting hosts: active, not deleted, not set aside. */
function counting(db: Db) {
  return db
    .selectFrom('artifact_sightings as s')
    .innerJoin('agents as a', 'a.id', 's.agent_id')
    .leftJoin('artifact_distrusts as d', (join) =>
      join.onRef('d.agent_id', '=', 's.agent_id').on('d.lifted_at', 'is', null),
    )
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null)
    .where('d.agent_id', 'is', null);
}

/** Counting sightings of these names and versions, of every variant and kind of hash, oldest first per artifact. */
export async function* countingSightings(db: Db, named: readonly Named[]): AsyncGenerator<SightingRow[]> {
  for (const { scope, part } of byScope(named)) {
    const rows = await counting(db)
      .selectAll('s')
      .where('s.scope', '=', scope)
      .where('s.name', 'in', namesOf(part))
      .where('s.version', 'in', versionsOf(part))
      .orderBy('s.seen_at')
      .orderBy('s.hash')
      .execute();
    yield ownRows(rows, part);
  }
}

export async function insertSightings(tx: Tx, rows: readonly SightingRow[]): Promise<void> {
  for (const some of chunks(rows)) {
    await tx
      .insertInto('artifact_sightings')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Contradicting claims of a host since then, except those that proved right. */
export async function unprovenClaims(
  db: Db,
  { agentId, sinceMs, limit }: { agentId: string; sinceMs: number; limit: number },
): Promise<SightingRow[]> {
  return db
    .selectFrom('artifact_sightings as s')
    .leftJoin('artifact_divergences as v', (join) =>
      join
        .onRef('v.scope', '=', 's.scope')
        .onRef('v.name', '=', 's.name')
        .onRef('v.version', '=', 's.version')
        .onRef('v.variant', '=', 's.variant')
        .onRef('v.algorithm', '=', 's.algorithm'),
    )
    .leftJoin('artifact_hashes as h', (join) =>
      join.onRef('h.divergence_id', '=', 'v.id').onRef('h.hash', '=', 's.hash'),
    )
    .selectAll('s')
    .where('s.agent_id', '=', agentId)
    .where('s.differs', '=', 1)
    .where((e) =>
      e.or([
        e('h.standing', 'is', null),
        e('h.standing', 'not in', ['accepted', 'confirmed', 'established']),
      ]),
    )
    .where('s.seen_at', '>', sinceMs)
    .orderBy('s.seen_at', 'desc')
    .limit(limit)
    .execute();
}

/** All hosts' sightings of one artifact, including those that do not count, oldest first. */
export async function sightingsOfArtifact(
  db: Db,
  { scope, name, version, variant, algorithm }: Omit<Tables['artifact_divergences'], 'id'>,
  limit: number,
) {
  return db
    .selectFrom('artifact_sightings as s')
    .leftJoin('agents as a', 'a.id', 's.agent_id')
    .leftJoin('artifact_distrusts as d', (join) =>
      join.onRef('d.agent_id', '=', 's.agent_id').on('d.lifted_at', 'is', null),
    )
    .select(['s.hash', 's.agent_id', 's.differs', 's.origin', 's.url', 's.seen_at'])
    .select(['a.hostname', 'a.status', 'a.deleted_at', 'd.since as set_aside_at'])
    .where('s.scope', '=', scope)
    .where('s.name', '=', name)
    .where('s.version', '=', version)
    .where('s.variant', '=', variant)
    .where('s.algorithm', '=', algorithm)
    .orderBy('s.seen_at')
    .orderBy('s.agent_id')
    .limit(limit)
    .execute();
}

/** Divergences in which a host has a claim, newest claims first. */
export async function divergencesOfHost(
  db: Db,
  { agentId, limit }: { agentId: string; limit: number },
): Promise<Tables['artifact_divergences'][]> {
  return db
    .selectFrom('artifact_sightings as s')
    .innerJoin('artifact_divergences as v', (join) =>
      join
        .onRef('v.scope', '=', 's.scope')
        .onRef('v.name', '=', 's.name')
        .onRef('v.version', '=', 's.version')
        .onRef('v.variant', '=', 's.variant')
        .onRef('v.algorithm', '=', 's.algorithm'),
    )
    .selectAll('v')
    .where('s.agent_id', '=', agentId)
    .orderBy('s.seen_at', 'desc')
    .limit(limit)
    .execute();
}
