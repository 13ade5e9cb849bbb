import { sql } from 'kysely';
import { Type } from 'typebox';
import { chunks } from '../../platform/db/chunks.ts';
import type { Db, Tx } from '../../platform/db/engine.ts';
import type { Tables } from '../../platform/db/tables.ts';
import { parseAs } from '../../platform/parse-as.ts';
import type { MirrorEntry, MirrorRecord } from './records/record-rules.ts';
import { type Snapshot, snapshotMark } from './snapshot.ts';

const Texts = Type.Array(Type.String());

export async function readSnapshots(db: Db): Promise<Map<string, Snapshot>> {
  const rows = await db.selectFrom('mirror_snapshots').selectAll().execute();
  return new Map(rows.map((row) => [row.base, snapshotOf(row)]));
}

/** The `snapshotMark` of every ecosystem that the mirror holds. */
export async function readSnapshotMarks(db: Db): Promise<Map<string, string>> {
  const snapshots = await readSnapshots(db);
  return new Map([...snapshots].map(([base, snapshot]) => [base, snapshotMark(snapshot)]));
}

/**
 * Locks every snapshot until the transaction ends, including those not there yet: a decision then rests on the newest
 * ones. On PostgreSQL many may hold them at once; SQLite has one writer at a time.
 */
export async function holdSnapshots(tx: Tx, { engine }: { engine: 'sqlite' | 'postgres' }): Promise<void> {
  if (engine === 'postgres') await sql`LOCK TABLE mirror_snapshots IN SHARE MODE`.execute(tx);
}

/**
 * Keeps every transaction that locks or holds a snapshot out until this one ends, and first waits for those under way:
 * a first snapshot has no row that they could have locked. Must come before any other lock of the transaction.
 */
export async function lockAllSnapshots(tx: Tx, { engine }: { engine: 'sqlite' | 'postgres' }): Promise<void> {
  if (engine === 'postgres') await sql`LOCK TABLE mirror_snapshots IN EXCLUSIVE MODE`.execute(tx);
}

/** Reads one snapshot, and on PostgreSQL locks its row, if it has one, until the transaction ends. */
export async function lockSnapshot(
  tx: Tx,
  { base, engine }: { base: string; engine: 'sqlite' | 'postgres' },
): Promise<Snapshot | null> {
  const query = tx.selectFrom('mirror_snapshots').selectAll().where('base', '=', base);
  const row = await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  return row ? snapshotOf(row) : null;
}

function snapshotOf(row: Tables['mirror_snapshots']): Snapshot {
  const releases = parseAs(Texts, row.releases);
  const unreadable = parseAs(Texts, row.illegible);
  if (releases === null || unreadable === null)
    throw new Error(`the snapshot of ${row.base} in the database is not valid`);
  return {
    base: row.base,
    loadId: row.load_id,
    releases,
    source: row.source,
    modifiedMark: row.modified_mark,
    sha256: row.sha256,
    asOfMs: row.as_of,
    asOfKind: row.as_of_kind,
    loadedAtMs: row.loaded_at,
    records: row.records,
    badRecords: row.bad_records,
    unreadable,
  };
}

export async function saveSnapshot(tx: Tx, snapshot: Snapshot): Promise<void> {
  const { base } = snapshot;
  const row = {
    load_id: snapshot.loadId,
    releases: JSON.stringify(snapshot.releases),
    source: snapshot.source,
    modified_mark: snapshot.modifiedMark,
    sha256: snapshot.sha256,
    as_of: snapshot.asOfMs,
    as_of_kind: snapshot.asOfKind,
    loaded_at: snapshot.loadedAtMs,
    records: snapshot.records,
    bad_records: snapshot.badRecords,
    illegible: JSON.stringify(snapshot.unreadable),
  };
  await tx
    .insertInto('mirror_snapshots')
    .values({ base, ...row })
    .onConflict((conflict) => conflict.column('base').doUpdateSet(row))
    .execute();
}

export async function insertRecords(
  tx: Tx,
  { loadId, records }: { loadId: number; records: readonly MirrorRecord[] },
): Promise<void> {
  const shown = records
    .filter(({ entries }) => entries.length > 0)
    .map(({ id, modified, record }) => ({ load_id: loadId, id, modified, record }));
  for (const some of chunks(shown)) await tx.insertInto('mirror_records').values(some).execute();
  const entries = records.flatMap((one) =>
    one.entries.map((entry, part) => rowOf(loadId, one.id, part, entry)),
  );
  for (const some of chunks(entries)) await tx.insertInto('mirror_entries').values(some).execute();
}

function rowOf(loadId: number, id: string, part: number, entry: MirrorEntry): Tables['mirror_entries'] {
  const { eco, name, rangesJson, versionsJson } = entry;
  return { load_id: loadId, id, part, eco, name, ranges_json: rangesJson, versions_json: versionsJson };
}

/** Deletes records and returns the packages that they named. */
export async function deleteRecords(
  tx: Tx,
  { loadId, ids }: { loadId: number; ids: readonly string[] },
): Promise<{ eco: string; name: string }[]> {
  const named: { eco: string; name: string }[] = [];
  for (const some of chunks(ids)) {
    named.push(
      ...(await tx
        .deleteFrom('mirror_entries')
        .where('load_id', '=', loadId)
        .where('id', 'in', some)
        .returning(['eco', 'name'])
        .execute()),
    );
    await tx.deleteFrom('mirror_records').where('load_id', '=', loadId).where('id', 'in', some).execute();
  }
  return named;
}

export async function readRecords(
  db: Db,
  { loadId, ids }: { loadId: number; ids: readonly string[] },
): Promise<{ id: string; modified: string; record: string }[]> {
  const found: { id: string; modified: string; record: string }[] = [];
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db
      .selectFrom('mirror_records')
      .select(['id', 'modified', 'record'])
      .where('load_id', '=', loadId)
      .where('id', 'in', some)
      .execute();
    found.push(...rows);
  }
  return found;
}

/** Copies records to the table that operators see, inside the database and never through our memory. */
export async function showRecords(
  tx: Tx,
  { loadId, ids, nowMs }: { loadId: number; ids: readonly string[]; nowMs: number },
): Promise<void> {
  for (const some of chunks(ids)) {
    await tx
      .insertInto('advisories')
      .columns(['id', 'modified', 'record', 'fetched_at'])
      .expression((e) =>
        e
          .selectFrom('mirror_records')
          .select(['id', 'modified', 'record', sql<number>`CAST(${nowMs} AS BIGINT)`.as('fetched_at')])
          .where('load_id', '=', loadId)
          .where('id', 'in', some)
          // Same order for every writer, so that two replicas do not deadlock.
          .orderBy('id'),
      )
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet((e) => ({
            modified: e.ref('excluded.modified'),
            record: e.ref('excluded.record'),
            fetched_at: e.ref('excluded.fetched_at'),
          }))
          .whereRef('advisories.modified', '<>', 'excluded.modified'),
      )
      .execute();
  }
}

/** Whether the mirror has an entry with one of these names in exactly this ecosystem. */
export async function hasEntries(
  db: Db,
  { loadId, eco, names }: { loadId: number; eco: string; names: readonly string[] },
): Promise<boolean> {
  const query = db.selectFrom('mirror_entries').select('id').where('load_id', '=', loadId);
  const named = names.length > 0 ? query.where('name', 'in', [...names]) : query;
  return (await named.where('eco', '=', eco).limit(1).executeTakeFirst()) !== undefined;
}

/** Loads whose rows nothing uses any more, of any ecosystem. */
export async function findAbandonedLoads(db: Db): Promise<number[]> {
  const rows = await db
    .selectFrom('mirror_entries')
    .select('load_id')
    .distinct()
    .where('load_id', 'not in', (e) => e.selectFrom('mirror_snapshots').select('load_id'))
    .where('load_id', 'not in', (e) =>
      e.selectFrom('mirror_loads').select('load_id').where('holder', 'is not', null),
    )
    .execute();
  return rows.map(({ load_id: loadId }) => loadId);
}

/** Deletes some records of a load; returns how many, 0 when none is left. */
export async function deleteSomeOfLoad(
  tx: Tx,
  { loadId, limit }: { loadId: number; limit: number },
): Promise<number> {
  const ids = await tx
    .selectFrom('mirror_entries')
    .select('id')
    .distinct()
    .where('load_id', '=', loadId)
    .orderBy('id')
    .limit(limit)
    .execute();
  if (ids.length === 0) {
    await tx.deleteFrom('mirror_records').where('load_id', '=', loadId).execute();
    return 0;
  }
  await deleteRecords(tx, { loadId, ids: ids.map(({ id }) => id) });
  return ids.length;
}

/**
 * Expires the checks of packages, in every release of the ecosystem; of all packages when no names are given. Findings
 * later than the data's time stay: the data cannot know of them.
 */
export async function expireChecks(
  tx: Tx,
  { base, names, asOfMs }: { base: string; names?: readonly string[]; asOfMs: number },
): Promise<void> {
  const query = checksOlderThan(tx, { base, asOfMs });
  if (!names) return void (await query.execute());
  for (const some of chunks([...new Set(names)])) await query.where('name', 'in', some).execute();
}

/**
 * Also expires the API's answers that stood in for the mirror, and those that `expireChecks` left, once the data is newer
 * than them. `isNew`: the mirror could not answer before. Otherwise the API's "clear" may live out its age, since the
 * mirror has no answer of its own to replace it.
 */
export async function expireStandIns(
  tx: Tx,
  { base, asOfMs, isNew }: { base: string; asOfMs: number; isNew: boolean },
): Promise<void> {
  await checksOlderThan(tx, { base, asOfMs })
    .where((e) => e[isNew ? 'or' : 'and']([e('source', '=', 'api'), e('verdict', '=', 'vulnerable')]))
    .execute();
}

function checksOlderThan(tx: Tx, { base, asOfMs }: { base: string; asOfMs: number }) {
  return tx
    .updateTable('advisory_checks')
    .set({ checked_at: 0 })
    .where((e) => e.or([e('ecosystem', '=', base), e('ecosystem', 'like', `${base}:%`)]))
    .where((e) => e.or([e('verdict', '<>', 'vulnerable'), e('checked_at', '<=', asOfMs)]));
}

/** Every system of the fleet, with the ecosystems that its hosts reported or are asked for. */
export async function readFleetSystems(
  db: Db,
): Promise<{ ecosystem: string; os_id: string; os_version_id: string }[]> {
  const active = db.selectFrom('agents').where('deleted_at', 'is', null).where('status', '=', 'active');
  const reported = await active
    .innerJoin('inventory_reports', 'inventory_reports.agent_id', 'agents.id')
    .select(['inventory_reports.ecosystem', 'os_id', 'os_version_id'])
    .distinct()
    .execute();
  const offered = await active
    .innerJoin('updates', 'updates.agent_id', 'agents.id')
    .where('state', 'in', ['pending', 'awaiting_plan'])
    .select(['updates.ecosystem', 'os_id', 'os_version_id'])
    .distinct()
    .execute();
  return [...reported, ...offered];
}
