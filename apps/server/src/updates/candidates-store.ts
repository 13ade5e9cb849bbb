import { PackageVersion } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { parseAs } from '../platform/parse-as.ts';

/** A package in one place of a host, and the versions that it may get. */
export interface Candidates {
  readonly agentId: string;
  readonly ecosystem: string;
  readonly name: string;
  readonly arch: string;
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

export async function candidatesOf(
  db: Db,
  { agentId, ecosystem }: { agentId: string; ecosystem: string },
): Promise<StoredCandidates[]> {
  const rows = await db
    .selectFrom('update_candidates')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .execute();
  return rows.map(fromRow);
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

export async function dropCandidates(tx: Tx, all: readonly Candidates[]): Promise<void> {
  for (const one of all) await ofPackage(tx, one).execute();
}

function ofPackage(tx: Tx, { agentId, ecosystem, name, arch }: Candidates) {
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
