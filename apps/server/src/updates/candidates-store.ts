import { PackageVersion } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, HotSql, Tx } from '../platform/db/engine.ts';
import { text } from '../platform/db/hot-sql.ts';
import type { Tables } from '../platform/db/tables.ts';
import { parseAs } from '../platform/parse-as.ts';
import type { PackageOfHost } from './store.ts';

/** A package of a host, and the versions that it may get. */
export interface Candidates extends PackageOfHost {
  readonly currentVersion: string;
  /** The nearest first. */
  readonly versions: readonly string[];
}

export interface StoredCandidates extends Candidates {
  /** The smallest of them that fixes what is known; null: none, or not known yet. */
  readonly fixVersion: string | null;
  /** False: a scan has changed it since the last look-up. */
  readonly isChecked: boolean;
}

const INSERT_ROWS = 200;
const Versions = Type.Array(PackageVersion);

/** What a scan compares of a package, as one text. */
export function comparedText({
  currentVersion,
  versions,
}: Pick<Candidates, 'currentVersion' | 'versions'>): string {
  return comparedColumns(currentVersion, JSON.stringify(versions));
}

function comparedColumns(currentVersion: string, versions: string): string {
  return `${currentVersion}\n${versions}`;
}

/** What is stored of these packages of one host, in their order, as `comparedText` has it; null: nothing. */
export async function comparedCandidates(
  db: Db,
  {
    agentId,
    ecosystem,
    of,
  }: { agentId: string; ecosystem: string; of: readonly Pick<Candidates, 'name' | 'arch'>[] },
): Promise<(string | null)[]> {
  const keys = JSON.stringify(of.map(({ name, arch }) => [name, arch]));
  const rows = await db.run(COMPARED, [keys, agentId, ecosystem]);
  const found = new Map(
    rows.map(([place, ...row]) => [Number(place), comparedColumns(text(row[0]), text(row[1]))]),
  );
  return of.map((_, i) => found.get(i) ?? null);
}

const COMPARED: HotSql = {
  name: 'compared_candidates',
  sqlite: `SELECT k.key, c.current_version, c.versions FROM json_each(?1) AS k CROSS JOIN update_candidates AS c
    WHERE c.agent_id = ?2 AND c.ecosystem = ?3 AND c.name = k.value ->> 0 AND c.arch = k.value ->> 1`,
  postgres: `SELECT k.place - 1, c.current_version, c.versions
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS k (value, place) JOIN update_candidates AS c
      ON c.agent_id = $2 AND c.ecosystem = $3 AND c.name = k.value ->> 0 AND c.arch = k.value ->> 1`,
};

/** The packages of a host of which candidates are stored. */
export async function packagesWithCandidates(
  db: Db,
  { agentId, ecosystem }: { agentId: string; ecosystem: string },
): Promise<PackageOfHost[]> {
  const rows = await db
    .selectFrom('update_candidates')
    .select(['name', 'arch'])
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .execute();
  return rows.map((row) => ({ agentId, ecosystem, ...row }));
}

/** Rows behind a key, in its order; with `onlyNew` those that were never looked up. */
export async function listCandidates(
  db: Db,
  { after, limit, onlyNew }: { after: StoredCandidates | null; limit: number; onlyNew: boolean },
): Promise<StoredCandidates[]> {
  let query = db.selectFrom('update_candidates').selectAll();
  if (onlyNew) query = query.where('checked_at', 'is', null);
  if (after !== null) {
    const { agentId, ecosystem, name, arch } = after;
    query = query.where((e) =>
      e(e.refTuple('agent_id', 'ecosystem', 'name', 'arch'), '>', e.tuple(agentId, ecosystem, name, arch)),
    );
  }
  const rows = await query
    .orderBy('agent_id')
    .orderBy('ecosystem')
    .orderBy('name')
    .orderBy('arch')
    .limit(limit)
    .execute();
  return rows.map(fromRow);
}

/** What is new or differs is looked up again. */
export async function putCandidates(tx: Tx, all: readonly Candidates[]): Promise<void> {
  for (const some of chunks(all, INSERT_ROWS)) {
    await tx
      .insertInto('update_candidates')
      .values(
        some.map((one) => ({
          ...{ agent_id: one.agentId, ecosystem: one.ecosystem, name: one.name, arch: one.arch },
          ...{ current_version: one.currentVersion, versions: JSON.stringify(one.versions) },
          ...{ fix_version: null, checked_at: null },
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['agent_id', 'ecosystem', 'name', 'arch']).doUpdateSet((e) => ({
          current_version: e.ref('excluded.current_version'),
          versions: e.ref('excluded.versions'),
          checked_at: null,
        })),
      )
      .execute();
  }
}

export async function dropCandidates(tx: Tx, all: readonly PackageOfHost[]): Promise<void> {
  for (const one of all) await ofPackage(tx, one).execute();
}

function ofPackage(tx: Tx, { agentId, ecosystem, name, arch }: PackageOfHost) {
  return tx
    .deleteFrom('update_candidates')
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .where('name', '=', name)
    .where('arch', '=', arch);
}

/** Writes the result of a look-up; false if a scan has changed the row meanwhile. */
export async function setFix(
  tx: Tx,
  { of, fixVersion, nowMs }: { of: Candidates; fixVersion: string | null; nowMs: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('update_candidates')
    .set({ fix_version: fixVersion, checked_at: nowMs })
    .where('agent_id', '=', of.agentId)
    .where('ecosystem', '=', of.ecosystem)
    .where('name', '=', of.name)
    .where('arch', '=', of.arch)
    .where('current_version', '=', of.currentVersion)
    .where('versions', '=', JSON.stringify(of.versions))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

function fromRow(row: Tables['update_candidates']): StoredCandidates {
  const versions = parseAs(Versions, row.versions);
  if (versions === null) throw new Error(`the candidates of ${row.name} in the database are not valid`);
  return {
    ...{ agentId: row.agent_id, ecosystem: row.ecosystem, name: row.name, arch: row.arch },
    ...{ currentVersion: row.current_version, versions, fixVersion: row.fix_version },
    isChecked: row.checked_at !== null,
  };
}
