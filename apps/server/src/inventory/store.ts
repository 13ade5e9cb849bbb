import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import type { Selectable } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { PackageRecord } from './diff-packages.ts';

/** Rows of one statement; SQLite binds at most 32,766 values. */
const WRITE_ROWS = 500;

interface Section {
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

export async function storedPackages(db: Db, { agentId, ecosystem }: Section): Promise<PackageRecord[]> {
  return db
    .selectFrom('agent_packages')
    .select(['name', 'arch', 'version', 'source_name', 'source_version', 'origin', 'held'])
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .execute();
}

export async function putPackages(
  tx: Tx,
  { agentId, ecosystem }: Section,
  records: readonly PackageRecord[],
): Promise<void> {
  for (let i = 0; i < records.length; i += WRITE_ROWS) {
    const rows = records.slice(i, i + WRITE_ROWS).map((record) => ({
      agent_id: agentId,
      ecosystem,
      ...record,
    }));
    await tx
      .insertInto('agent_packages')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['agent_id', 'ecosystem', 'name', 'arch', 'version']).doUpdateSet((e) => ({
          source_name: e.ref('excluded.source_name'),
          source_version: e.ref('excluded.source_version'),
          origin: e.ref('excluded.origin'),
          held: e.ref('excluded.held'),
        })),
      )
      .execute();
  }
}

export async function dropPackages(
  tx: Tx,
  { agentId, ecosystem }: Section,
  records: readonly PackageRecord[],
): Promise<void> {
  for (const { name, arch, version } of records) {
    await tx
      .deleteFrom('agent_packages')
      .where('agent_id', '=', agentId)
      .where('ecosystem', '=', ecosystem)
      .where('name', '=', name)
      .where('arch', '=', arch)
      .where('version', '=', version)
      .execute();
  }
}

export async function putReport(tx: Tx, row: ReportRow): Promise<void> {
  const { agent_id: _, ecosystem: __, ...facts } = row;
  await tx
    .insertInto('inventory_reports')
    .values(row)
    .onConflict((conflict) => conflict.columns(['agent_id', 'ecosystem']).doUpdateSet(facts))
    .execute();
}

/** Repeats the digests on the agent's row, where each check-in reads them, as the check-in writes them. */
export async function copyDigests(tx: Tx, agentId: string): Promise<void> {
  const rows = await tx
    .selectFrom('inventory_reports')
    .select(['ecosystem', 'digest'])
    .where('agent_id', '=', agentId)
    .execute();
  const byEcosystem = new Map(rows.map((row) => [row.ecosystem, row.digest]));
  // JSON leaves out what is undefined.
  const digests = Object.fromEntries(ECOSYSTEMS.map((ecosystem) => [ecosystem, byEcosystem.get(ecosystem)]));
  await tx
    .updateTable('agents')
    .set({ inventory_digests: JSON.stringify(digests) })
    .where('id', '=', agentId)
    .execute();
}
