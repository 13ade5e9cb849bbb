import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import type { Selectable } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
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

/** Takes over from any writer of another report of this ecosystem. */
export async function putReport(tx: Tx, report: Omit<ReportRow, 'writing' | 'changes_since'>): Promise<void> {
  const row = { ...report, writing: null, changes_since: report.received_at };
  const { agent_id: _, ecosystem: __, changes_since: ___, ...facts } = row;
  await tx
    .insertInto('inventory_reports')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['agent_id', 'ecosystem']).doUpdateSet((e) => ({
        ...facts,
        changes_since: e.fn.coalesce('inventory_reports.changes_since', 'excluded.changes_since'),
      })),
    )
    .execute();
}

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
  const rows = await tx
    .selectFrom('inventory_reports')
    .select(['ecosystem', 'digest'])
    .where('agent_id', '=', agentId)
    .execute();
  // A report being written has no digest yet. JSON omits undefined.
  const byEcosystem = new Map(rows.map((row) => [row.ecosystem, row.digest === '' ? undefined : row.digest]));
  const digests = Object.fromEntries(ECOSYSTEMS.map((ecosystem) => [ecosystem, byEcosystem.get(ecosystem)]));
  await tx
    .updateTable('agents')
    .set({ inventory_digests: JSON.stringify(digests) })
    .where('id', '=', agentId)
    .execute();
}
