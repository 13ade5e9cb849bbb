import type { Selectable } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { KnownRow } from './shared-rows.ts';
import { placeOf } from './unfixed-rules.ts';

const KNOWN_PAGE = 5_000;

export type UnfixedRow = Selectable<Tables['unfixed']>;
export type GroupRow = Selectable<Tables['unfixed_groups']>;

/** All rows by id, page by page. */
export async function rowsAfter(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<UnfixedRow[]> {
  const rows = await db
    .selectFrom('unfixed')
    .selectAll()
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(rowOf);
}

/** What of the rows decides which records share one. */
export async function readKnownRows(db: Db): Promise<KnownRow[]> {
  const found: KnownRow[] = [];
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('unfixed')
      .select(['id', 'distribution', 'package', 'vulnerability', 'first_seen_at', 'hook'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(KNOWN_PAGE)
      .execute();
    for (const row of rows) {
      found.push({
        ...{ place: placeOf(row.distribution, row.package), record: row.vulnerability },
        ...{ firstSeenMs: Number(row.first_seen_at), isNoted: row.hook !== null },
      });
    }
    const last = rows.at(-1);
    if (!last) return found;
    after = last.id;
  }
}

/** PostgreSQL's driver may give a BIGINT as text. */
export function rowOf(row: UnfixedRow): UnfixedRow {
  return {
    ...row,
    ...{ hosts: Number(row.hosts), pending: Number(row.pending), first_seen_at: Number(row.first_seen_at) },
    urgency: Number(row.urgency),
    ...{ gone_at: time(row.gone_at), fix_known_at: time(row.fix_known_at) },
    ...{ fix_offered_at: time(row.fix_offered_at), mitigated_at: time(row.mitigated_at) },
  };
}

function time(ms: number | null): number | null {
  return ms === null ? null : Number(ms);
}

export async function groupRowsOf(db: Db, ids: readonly string[]): Promise<GroupRow[]> {
  const found: GroupRow[] = [];
  for (const some of chunks(ids)) {
    found.push(
      ...(await db.selectFrom('unfixed_groups').selectAll().where('unfixed_id', 'in', some).execute()),
    );
  }
  return found.map((row) => ({
    ...{ group_name: row.group_name, unfixed_id: row.unfixed_id },
    ...{ hosts: Number(row.hosts), pending: Number(row.pending), first_seen_at: Number(row.first_seen_at) },
  }));
}

/** Leaves alone what operators recorded, which may have changed since the row was read. */
export async function putRow(tx: Tx, row: UnfixedRow, { isNew }: { isNew: boolean }): Promise<void> {
  if (isNew) {
    await tx.insertInto('unfixed').values(row).execute();
    return;
  }
  const { hosts, pending, gone_at, severity, exploited, urgency, names, cves, records, packages } = row;
  const { fixed_in, fix_known_at, fix_offered_at } = row;
  await tx
    .updateTable('unfixed')
    .set({ hosts, pending, gone_at, severity, exploited, urgency, names, cves, records, packages })
    .set({ fixed_in, fix_known_at, fix_offered_at })
    .where('id', '=', row.id)
    .execute();
}

export async function putGroups(tx: Tx, rows: readonly GroupRow[]): Promise<void> {
  for (const some of chunks(rows)) {
    await tx
      .insertInto('unfixed_groups')
      .values(some)
      .onConflict((conflict) =>
        conflict.columns(['group_name', 'unfixed_id']).doUpdateSet((e) => ({
          hosts: e.ref('excluded.hosts'),
          pending: e.ref('excluded.pending'),
        })),
      )
      .execute();
  }
}

/** No host has these any more. */
export async function setGone(
  tx: Tx,
  { ids, nowMs }: { ids: readonly string[]; nowMs: number },
): Promise<void> {
  for (const some of chunks(ids)) {
    await tx
      .updateTable('unfixed')
      .set({ hosts: 0, pending: 0, gone_at: nowMs })
      .where('id', 'in', some)
      .execute();
    await tx
      .updateTable('unfixed_groups')
      .set({ hosts: 0, pending: 0 })
      .where('unfixed_id', 'in', some)
      .execute();
  }
}

/** Forgets what has been gone for long, at most `limit` rows. */
export async function dropGone(
  tx: Tx,
  { beforeMs, limit }: { beforeMs: number; limit: number },
): Promise<void> {
  const rows = await tx
    .selectFrom('unfixed')
    .select('id')
    .where('gone_at', '<', beforeMs)
    .orderBy('gone_at')
    .limit(limit)
    .execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return;
  await tx.deleteFrom('unfixed_groups').where('unfixed_id', 'in', ids).execute();
  await tx.deleteFrom('unfixed').where('id', 'in', ids).execute();
}
