import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { PackageRecord } from './diff-packages.ts';

/** Rows per statement; SQLite binds at most 32,766 values. */
const WRITE_ROWS = 500;
/** Rows read per statement, because SQLite cannot be interrupted. */
const READ_ROWS = 2_000;

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

/** All packages, page by page in key order. */
export async function* storedPackages(
  db: Db,
  { agentId, ecosystem }: Section,
): AsyncGenerator<PackageRecord[]> {
  const query = db
    .selectFrom('agent_packages')
    .select(['name', 'arch', 'version', 'source_name', 'source_version', 'origin', 'held'])
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .orderBy('name')
    .orderBy('arch')
    .orderBy('version')
    .limit(READ_ROWS);
  let page = await query.execute();
  for (;;) {
    if (page.length > 0) yield page;
    const last = page.at(-1);
    if (!last || page.length < READ_ROWS) return;
    const behind = sql<SqlBool>`(name, arch, version) > (${last.name}, ${last.arch}, ${last.version})`;
    page = await query.where(behind).execute();
  }
}

/** The packages installed under these names, in every version and of every architecture. */
export async function packagesNamed(
  db: Db,
  { agentId, ecosystem }: Section,
  names: readonly string[],
): Promise<PackageRecord[]> {
  const found: PackageRecord[] = [];
  for (let i = 0; i < names.length; i += WRITE_ROWS) {
    const rows = await db
      .selectFrom('agent_packages')
      .select(['name', 'arch', 'version', 'source_name', 'source_version', 'origin', 'held'])
      .where('agent_id', '=', agentId)
      .where('ecosystem', '=', ecosystem)
      .where('name', 'in', names.slice(i, i + WRITE_ROWS))
      .execute();
    found.push(...rows);
  }
  return found;
}

export async function countPackages(db: Db, { agentId, ecosystem }: Section): Promise<number> {
  const { count } = await db
    .selectFrom('agent_packages')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .executeTakeFirstOrThrow();
  return Number(count);
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

/** Takes over from any writer of another report of this ecosystem. */
export async function putReport(tx: Tx, report: Omit<ReportRow, 'writing'>): Promise<void> {
  const row = { ...report, writing: null };
  const { agent_id: _, ecosystem: __, ...facts } = row;
  await tx
    .insertInto('inventory_reports')
    .values(row)
    .onConflict((conflict) => conflict.columns(['agent_id', 'ecosystem']).doUpdateSet(facts))
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
