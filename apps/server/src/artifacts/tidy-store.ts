import { sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import { byScope, type Named, namesOf, versionsOf } from './named.ts';

const IDENTITY = ['scope', 'name', 'version', 'variant', 'algorithm'] as const;

/** No host reports the row's artifact any more, counting or not. */
const isUnclaimed = (table: 'artifacts' | 'artifact_divergences') =>
  sql<boolean>`NOT EXISTS (SELECT 1 FROM artifact_sightings AS s
    WHERE ${sql.raw(IDENTITY.map((column) => `s.${column} = ${table}.${column}`).join(' AND '))})`;

/** A host that is revoked or deleted and still has sightings. */
export async function findGoneHost(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('agents as a')
    .select('a.id')
    .where((e) => e.or([e('a.status', '<>', 'active'), e('a.deleted_at', 'is not', null)]))
    .where(sql<boolean>`EXISTS (SELECT 1 FROM artifact_sightings AS s WHERE s.agent_id = a.id)`)
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

/** Deletes about this many of a host's oldest sightings, and artifacts that nobody reports without them. */
export async function dropSightings(
  tx: Tx,
  { agentId, limit }: { agentId: string; limit: number },
): Promise<void> {
  const next = await tx
    .selectFrom('artifact_sightings')
    .select('seen_at')
    .where('agent_id', '=', agentId)
    .orderBy('seen_at')
    .offset(limit)
    .limit(1)
    .executeTakeFirst();
  let query = tx.deleteFrom('artifact_sightings').where('agent_id', '=', agentId);
  if (next) query = query.where('seen_at', '<=', next.seen_at);
  await dropUnclaimed(tx, await query.returning(['scope', 'name', 'version']).execute());
}

/** Makes room for new sightings of a host: deletes its oldest, except contradicting ones. */
export async function boundSightings(
  tx: Tx,
  { agentId, most }: { agentId: string; most: number },
): Promise<void> {
  const oldest = await tx
    .selectFrom('artifact_sightings')
    .select('seen_at')
    .where('agent_id', '=', agentId)
    .orderBy('seen_at', 'desc')
    .offset(most)
    .limit(1)
    .executeTakeFirst();
  if (!oldest) return;
  const dropped = await tx
    .deleteFrom('artifact_sightings')
    .where('agent_id', '=', agentId)
    .where('seen_at', '<=', oldest.seen_at)
    .where('differs', '=', 0)
    .returning(['scope', 'name', 'version'])
    .execute();
  await dropUnclaimed(tx, dropped);
}

/** Of these artifacts and their divergences, deletes those that nobody reports and no decision was ever about. */
export async function dropUnclaimed(tx: Tx, named: readonly Named[]): Promise<void> {
  for (const { scope, part } of byScope(named)) {
    const [names, versions] = [namesOf(part), versionsOf(part)];
    await tx
      .deleteFrom('artifacts')
      .where('scope', '=', scope)
      .where('name', 'in', names)
      .where('version', 'in', versions)
      .where(isUnclaimed('artifacts'))
      .execute();
    const taken = await tx
      .updateTable('artifact_divergences')
      .set({ hash_count: sql<number>`hash_count` })
      .where('scope', '=', scope)
      .where('name', 'in', names)
      .where('version', 'in', versions)
      .where(isUnclaimed('artifact_divergences'))
      .where(sql<boolean>`NOT EXISTS (SELECT 1 FROM artifact_decisions AS k
        WHERE k.divergence_id = artifact_divergences.id)`)
      .returning('id')
      .execute();
    if (taken.length === 0) continue;
    const ids = taken.map(({ id }) => id);
    await tx
      .deleteFrom('artifact_enforcements')
      .where('kind', '=', 'divergence')
      .where('subject', 'in', ids)
      .execute();
    await tx.deleteFrom('artifact_hashes').where('divergence_id', 'in', ids).execute();
    await tx.deleteFrom('artifact_divergences').where('id', 'in', ids).execute();
  }
}

export async function divergenceIdsAfter(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('artifact_divergences')
    .select('id')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}
