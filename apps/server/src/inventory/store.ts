import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import type { Selectable } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import { hotSql, text } from '../platform/db/hot-sql.ts';
import type { Tables } from '../platform/db/tables.ts';

export interface Section {
  agentId: string;
  ecosystem: Ecosystem;
}

export type ReportRow = Selectable<Tables['inventory_reports']>;

export async function findReport(db: Db, { agentId, ecosystem }: Section): Promise<ReportRow | null> {
  const row = await db
    .selectFrom('inventory_reports')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .executeTakeFirst();
  return row ?? null;
}

/** What a delta needs of the stored report. */
export async function findBase(
  tx: Tx,
  { agentId, ecosystem }: Section,
): Promise<Pick<ReportRow, 'digest' | 'complete' | 'received_at'> | null> {
  const [row] = await tx.run(FIND_BASE, [agentId, ecosystem]);
  return row ? { digest: text(row[0]), complete: Number(row[1]), received_at: Number(row[2]) } : null;
}

const FIND_BASE = hotSql(
  'find_base',
  'SELECT digest, complete, received_at FROM inventory_reports WHERE agent_id = ? AND ecosystem = ?',
);

/** Takes over from any writer of another report of this ecosystem. */
export async function putReport(tx: Tx, report: Omit<ReportRow, 'writing' | 'changes_since'>): Promise<void> {
  const { agent_id, ecosystem, digest, scanned_at, received_at, complete, package_count, condition } = report;
  await tx.run(PUT_REPORT, [
    ...[agent_id, ecosystem, digest, scanned_at, received_at, complete, package_count, condition],
    received_at,
  ]);
}

const PUT_REPORT = hotSql(
  'put_report',
  `INSERT INTO inventory_reports AS r (agent_id, ecosystem, digest, scanned_at, received_at, complete, package_count,
      condition, writing, changes_since)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)
    ON CONFLICT (agent_id, ecosystem) DO UPDATE SET digest = excluded.digest, scanned_at = excluded.scanned_at,
      received_at = excluded.received_at, complete = excluded.complete, package_count = excluded.package_count,
      condition = excluded.condition, writing = NULL, changes_since = coalesce(r.changes_since, excluded.changes_since)`,
);

/** Marks the stored report as being written: incomplete, without a digest. Any earlier writer stops. */
export async function beginWriting(
  tx: Tx,
  args: Section & { writing: string; scannedAtMs: number; nowMs: number },
): Promise<void> {
  const mark = { writing: args.writing, digest: '', complete: 0 };
  await tx
    .insertInto('inventory_reports')
    .values({
      ...mark,
      agent_id: args.agentId,
      ecosystem: args.ecosystem,
      scanned_at: args.scannedAtMs,
      received_at: args.nowMs,
      package_count: 0,
      condition: null,
    })
    .onConflict((conflict) => conflict.columns(['agent_id', 'ecosystem']).doUpdateSet(mark))
    .execute();
}

/** False if another report has taken over. */
export async function holdWriting(
  tx: Tx,
  { agentId, ecosystem, writing }: Section & { writing: string },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('inventory_reports')
    .set({ writing })
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .where('writing', '=', writing)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Copies the digests to the agent's row, where each check-in reads them, in the check-in's format. */
export async function copyDigests(tx: Tx, agentId: string): Promise<void> {
  const rows = await tx.run(DIGESTS_OF, [agentId]);
  // A report being written has no digest yet. JSON omits undefined.
  const byEcosystem = new Map(
    rows.map(([ecosystem, digest]) => [ecosystem, digest === '' ? undefined : digest]),
  );
  const digests = Object.fromEntries(ECOSYSTEMS.map((ecosystem) => [ecosystem, byEcosystem.get(ecosystem)]));
  await tx.run(SET_DIGESTS, [JSON.stringify(digests), agentId]);
}

const DIGESTS_OF = hotSql('digests_of', 'SELECT ecosystem, digest FROM inventory_reports WHERE agent_id = ?');
const SET_DIGESTS = hotSql('set_digests', 'UPDATE agents SET inventory_digests = ? WHERE id = ?');
