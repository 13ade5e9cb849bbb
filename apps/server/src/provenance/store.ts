import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type ProvenanceRow = Tables['provenances'];

/** Stored provenance of packages of an ecosystem, in all their versions. */
export async function readProvenances(
  db: Db,
  { ecosystem, names }: { ecosystem: string; names: readonly string[] },
): Promise<ProvenanceRow[]> {
  const found: ProvenanceRow[] = [];
  for (const some of chunks([...new Set(names)])) {
    const rows = await db
      .selectFrom('provenances')
      .selectAll()
      .where('ecosystem', '=', ecosystem)
      .where('name', 'in', some)
      .execute();
    found.push(...rows);
  }
  return found;
}

export async function findProvenance(
  db: Db,
  of: Pick<ProvenanceRow, 'ecosystem' | 'name' | 'version' | 'artifact'>,
): Promise<ProvenanceRow | null> {
  const query = db
    .selectFrom('provenances')
    .selectAll()
    .where('ecosystem', '=', of.ecosystem)
    .where('name', '=', of.name)
    .where('version', '=', of.version)
    .where('artifact', '=', of.artifact);
  return (await query.executeTakeFirst()) ?? null;
}

export async function saveProvenance(tx: Tx, row: ProvenanceRow): Promise<void> {
  const { ecosystem: _, name: __, version: ___, artifact: ____, ...said } = row;
  await tx
    .insertInto('provenances')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['ecosystem', 'name', 'version', 'artifact']).doUpdateSet(said),
    )
    .execute();
}
