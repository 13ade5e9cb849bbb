import type { Insertable, Selectable } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { Section } from './store.ts';

/** Pieces per statement. */
const READ_PIECES = 8;

export type PieceRow = Tables['inventory_parts'];

/** A part that has arrived completely. */
export interface StoredPart {
  part: number;
  digest: string;
  parts: number;
  pieces: number;
  sizeBytes: number;
  packageCount: number;
}

/** False if another server stores the same part at this moment: what is there then stays. */
export async function insertPieces(tx: Tx, rows: readonly Insertable<PieceRow>[]): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('inventory_parts')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === BigInt(rows.length);
}

/** The complete parts of a report, in order. */
export async function storedParts(
  db: Db,
  { agentId, ecosystem, report }: Section & { report: string },
): Promise<StoredPart[]> {
  const rows = await db
    .selectFrom('inventory_parts')
    .select(['part', 'digest', 'parts', 'pieces', 'size_bytes', 'package_count'])
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .where('report', '=', report)
    .where('piece', '=', 0)
    .orderBy('part')
    .execute();
  return rows.map((row) => ({
    part: row.part,
    digest: row.digest ?? '',
    parts: row.parts ?? 0,
    pieces: row.pieces ?? 0,
    sizeBytes: Number(row.size_bytes ?? 0),
    packageCount: row.package_count ?? 0,
  }));
}

/** Bytes, after decompression, of a host's unfinished reports of all ecosystems. */
export async function bytesUnderWay(db: Db, agentId: string): Promise<number> {
  const row = await db
    .selectFrom('inventory_parts')
    .select((e) => e.fn.sum<number | null>('size_bytes').as('bytes'))
    .where('agent_id', '=', agentId)
    .where('piece', '=', 0)
    .executeTakeFirstOrThrow();
  return Number(row.bytes ?? 0);
}

/** The data of a part, several pieces at a time. */
export async function* readPieces(
  db: Db,
  { agentId, ecosystem, report, part }: Section & { report: string; part: number },
): AsyncGenerator<string> {
  const query = db
    .selectFrom('inventory_parts')
    .select(['piece', 'data'])
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .where('report', '=', report)
    .where('part', '=', part)
    .orderBy('piece')
    .limit(READ_PIECES);
  let rows = await query.execute();
  for (;;) {
    for (const { data } of rows) yield data;
    const last = rows.at(-1);
    if (!last || rows.length < READ_PIECES) return;
    rows = await query.where('piece', '>', last.piece).execute();
  }
}

export async function dropPart(
  tx: Tx,
  {
    agentId,
    ecosystem,
    report,
    part,
  }: Pick<StoredPart, 'part'> & { agentId: string; ecosystem: string; report: string },
): Promise<void> {
  await tx
    .deleteFrom('inventory_parts')
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .where('report', '=', report)
    .where('part', '=', part)
    .execute();
}

/** Drops the parts of every report of an ecosystem, or of every one except `report`. */
export async function dropReports(
  tx: Tx,
  { agentId, ecosystem, but }: Section & { but: string | null },
): Promise<void> {
  const parts = tx
    .deleteFrom('inventory_parts')
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem);
  await (but === null ? parts : parts.where('report', '<>', but)).execute();
}

/** Drops what a host left of reports that it never completed. */
export async function dropOldParts(
  tx: Tx,
  { agentId, beforeMs }: { agentId: string; beforeMs: number },
): Promise<void> {
  await tx
    .deleteFrom('inventory_parts')
    .where('agent_id', '=', agentId)
    .where('received_at', '<', beforeMs)
    .execute();
}

/** A part that arrived before then, whatever host it is of; null without any. */
export async function findOldPart(
  db: Db,
  beforeMs: number,
): Promise<Pick<Selectable<PieceRow>, 'agent_id' | 'ecosystem' | 'report' | 'part'> | null> {
  const row = await db
    .selectFrom('inventory_parts')
    .select(['agent_id', 'ecosystem', 'report', 'part'])
    .where('received_at', '<', beforeMs)
    .orderBy('received_at')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}
