import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Subject } from './subjects.ts';

/** What of a check says whether anything uses it. */
export interface UseOfCheck extends Subject {
  readonly hasFindings: boolean;
  readonly reason: string | null;
  readonly checkedAtMs: number;
  readonly unusedSinceMs: number | null;
}

/** Checks in the order of their key, page by page, without their findings. */
export async function pageOfUses(
  db: Db,
  { after, limit }: { after: Subject; limit: number },
): Promise<UseOfCheck[]> {
  const rows = await db
    .selectFrom('advisory_checks')
    .select(['ecosystem', 'name', 'version', 'verdict', 'reason', 'checked_at', 'unused_since'])
    .where(sql<SqlBool>`(ecosystem, name, version) > (${after.ecosystem}, ${after.name}, ${after.version})`)
    .orderBy('ecosystem')
    .orderBy('name')
    .orderBy('version')
    .limit(limit)
    .execute();
  return rows.map(({ ecosystem, name, version, verdict, reason, checked_at, unused_since }) => ({
    ...{ ecosystem, name, version, reason, hasFindings: verdict === 'vulnerable' },
    checkedAtMs: Number(checked_at),
    unusedSinceMs: unused_since === null ? null : Number(unused_since),
  }));
}

/** The newest check of each ecosystem, such as `Debian:12`, that is not of the future. */
export async function newestChecks(db: Db, nowMs: number): Promise<{ ecosystem: string; atMs: number }[]> {
  const rows = await db
    .selectFrom('advisory_checks')
    .select(({ fn }) => ['ecosystem', fn.max('checked_at').as('at')])
    .where('checked_at', '<=', nowMs)
    .groupBy('ecosystem')
    .execute();
  return rows.map(({ ecosystem, at }) => ({ ecosystem, atMs: Number(at) }));
}

/** Those that are not marked yet; an answer that comes in takes the mark back. */
export async function markChecksUnused(tx: Tx, subjects: readonly Subject[], nowMs: number): Promise<void> {
  for (const some of chunks(subjects)) {
    await sql`UPDATE advisory_checks SET unused_since = ${nowMs}
      WHERE ${isOneOf(some)} AND (unused_since IS NULL OR unused_since > ${nowMs})`.execute(tx);
  }
}

export async function markChecksUsed(tx: Tx, subjects: readonly Subject[]): Promise<void> {
  for (const some of chunks(subjects)) {
    await sql`UPDATE advisory_checks SET unused_since = NULL WHERE ${isOneOf(some)}`.execute(tx);
  }
}

/** Compare-and-swap: only those that are still marked, and have been since before a time. Returns how many. */
export async function deleteUnusedChecks(
  tx: Tx,
  { subjects, beforeMs }: { subjects: readonly Subject[]; beforeMs: number },
): Promise<number> {
  let deleted = 0n;
  for (const some of chunks(subjects)) {
    const { numAffectedRows } = await sql`DELETE FROM advisory_checks
      WHERE ${isOneOf(some)} AND unused_since <= ${beforeMs}`.execute(tx);
    deleted += numAffectedRows ?? 0n;
  }
  return Number(deleted);
}

function isOneOf(subjects: readonly Subject[]): RawBuilder<SqlBool> {
  const keys = subjects.map(({ ecosystem, name, version }) => sql`(${ecosystem}, ${name}, ${version})`);
  return sql<SqlBool>`(ecosystem, name, version) IN (VALUES ${sql.join(keys)})`;
}
