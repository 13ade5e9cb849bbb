import { sql } from 'kysely';
import type { Tx } from '../platform/db/engine.ts';
import { hotSql, text } from '../platform/db/hot-sql.ts';
import { identityDigest, type PackageIdentity } from './identity.ts';

/** Attempts to number identities: each of them meets another writer, or a number that is taken. */
const ATTEMPTS = 10;

/**
 * The numbers of these identities, in their order; new ones are stored. At most as many as fit one statement.
 *
 * Two writers may bring the same new identity: both insert in the order of the digests, so that neither waits for one that waits
 * for it, and the later one reads what the earlier one stored. An identity that the sweep has found unused is taken back into use
 * before anything refers to it: the row is locked, so that the sweep either sees that or was first.
 */
export async function internPackages(
  tx: Tx,
  { ecosystem, packages }: { ecosystem: string; packages: readonly PackageIdentity[] },
): Promise<number[]> {
  const digests = packages.map((one) => identityDigest(ecosystem, one));
  const ids = new Map<string, number>();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const missing = new Map(packages.map((one, i) => [digests[i] ?? '', one]));
    for (const digest of ids.keys()) missing.delete(digest);
    if (missing.size === 0) return digests.map((digest) => ids.get(digest) ?? 0);
    for (const [digest, id] of await numbersOf(tx, [...missing.keys()].toSorted())) {
      ids.set(digest, id);
      missing.delete(digest);
    }
    if (missing.size === 0) continue;
    const rows = [...missing]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([digest, one]) => ({
        ...{ digest, ecosystem, name: one.name, arch: one.arch, version: one.version },
        ...{ source_name: one.source_name, source_version: one.source_version, origin: one.origin },
      }));
    const stored = await tx
      .insertInto('package_identities')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning(['id', 'digest'])
      .execute();
    for (const { id, digest } of stored) ids.set(digest, id);
  }
  throw new Error('package identities could not be numbered');
}

/** What is stored, and in use from now on. */
async function numbersOf(tx: Tx, digests: readonly string[]): Promise<Map<string, number>> {
  const rows = (await tx.run(NUMBERS_OF, [digests])).map(([id, digest, unusedSince]) => ({
    ...{ id: Number(id), digest: text(digest), isUsed: unusedSince === null },
  }));
  const found = new Map<string, number>();
  for (const { id, digest, isUsed } of rows.toSorted((a, b) => (a.digest < b.digest ? -1 : 1))) {
    if (isUsed || (await takeIntoUse(tx, id))) found.set(digest, id);
  }
  return found;
}

const NUMBERS_OF = hotSql(
  'identity_numbers',
  'SELECT id, digest, unused_since FROM package_identities WHERE digest IN ?texts',
);

/** False if the sweep was first. */
async function takeIntoUse(tx: Tx, id: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('package_identities')
    .set({ unused_since: null })
    .where('id', '=', id)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Identities by number, page by page, and whether a host has them or their history names them. */
export async function pageOfIdentities(
  tx: Tx,
  { after, limit }: { after: number; limit: number },
): Promise<{ id: number; unused_since: number | null; isUsed: boolean }[]> {
  const rows = await tx
    .selectFrom('package_identities as p')
    .select(['p.id', 'p.unused_since'])
    .select(
      sql<number>`CASE WHEN EXISTS (SELECT 1 FROM installed_packages AS i WHERE i.package_id = p.id)
        OR EXISTS (SELECT 1 FROM inventory_changes AS c WHERE c.package_id = p.id)
        OR EXISTS (SELECT 1 FROM inventory_changes AS c WHERE c.replaced_id = p.id) THEN 1 ELSE 0 END`.as(
        'used',
      ),
    )
    .where('p.id', '>', after)
    .orderBy('p.id')
    .limit(limit)
    .execute();
  return rows.map(({ used, ...row }) => ({ ...row, isUsed: used === 1 }));
}

export async function markUnused(tx: Tx, { ids, nowMs }: { ids: readonly number[]; nowMs: number }) {
  if (ids.length === 0) return;
  await tx
    .updateTable('package_identities')
    .set({ unused_since: nowMs })
    .where('id', 'in', ids)
    .where('unused_since', 'is', null)
    .execute();
}

/** Deletes what was marked before a time and is still unused. Returns how many. */
export async function deleteUnused(
  tx: Tx,
  { ids, beforeMs }: { ids: readonly number[]; beforeMs: number },
): Promise<number> {
  if (ids.length === 0) return 0;
  const { numDeletedRows } = await tx
    .deleteFrom('package_identities')
    .where('id', 'in', ids)
    .where('unused_since', '<', beforeMs)
    .executeTakeFirst();
  return Number(numDeletedRows);
}
