import { type InstalledOn, RollbackAction } from '@tidegate/protocol/rollbacks';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { fromHosts } from '../platform/db/from-hosts.ts';
import { opened, sealed } from '../platform/db/row-seals.ts';

const undoActions = Compile(Type.Array(RollbackAction));

/** What a rollback is to undo, as the server derived it from the signed approval. */
export interface Rollback {
  readonly updateId: string;
  readonly tokenId: string;
  readonly actions: readonly RollbackAction[];
}

export async function insertRollback(tx: Tx, { updateId, tokenId, actions }: Rollback): Promise<void> {
  const row = { update_id: updateId, token_id: tokenId, actions: JSON.stringify(actions) };
  await tx
    .insertInto('rollbacks')
    .values(sealed(tx, 'rollbacks', row))
    .execute();
}

/** Null where there is none, and where this server did not write it. */
export async function findRollback(db: Db, updateId: string): Promise<Rollback | null> {
  const query = db.selectFrom('rollbacks').selectAll().where('update_id', '=', updateId);
  const row = opened(db, 'rollbacks', await query.executeTakeFirst());
  if (row === null) return null;
  const actions: unknown = JSON.parse(row.actions);
  if (!undoActions.Check(actions)) throw new Error(`the rollback ${updateId} in the database is not valid`);
  return { updateId, tokenId: row.token_id, actions };
}

/** Whether an installation is being undone, or another version of a package is approved or waits for its plan. */
export async function isUnderWay(
  db: Db,
  {
    tokenId,
    of,
  }: { tokenId: string; of: { agentId: string; ecosystem: string; name: string; arch: string } },
): Promise<boolean> {
  const undone = await db
    .selectFrom('updates')
    .select('id')
    .where('rollback_of', '=', tokenId)
    .where('state', 'not in', ['installed', 'superseded', 'rejected'])
    .executeTakeFirst();
  if (undone) return true;
  const approved = await db
    .selectFrom('updates')
    .select('id')
    .where('agent_id', '=', of.agentId)
    .where('ecosystem', '=', of.ecosystem)
    .where('name', '=', of.name)
    .where('arch', '=', of.arch)
    .where('state', 'in', ['awaiting_plan', 'approved', 'installing'])
    .executeTakeFirst();
  return approved !== undefined;
}

/** Of each host the newest updates, one for each architecture, that brought a version, or failed to. */
export async function updatesThatBrought(
  db: Db,
  { agent_ids: agentIds, ecosystem, name, version }: InstalledOn,
): Promise<{ id: string; agent_id: string }[]> {
  const newest = new Map<string, { id: string; agent_id: string }>();
  for (const some of chunks([...new Set(agentIds)])) {
    const rows = await fromHosts(db, some)
      .crossJoin('updates as u')
      .select(['u.id', 'u.agent_id', 'u.arch'])
      .whereRef('u.agent_id', '=', 'h.id')
      .where('u.ecosystem', '=', ecosystem)
      .where('u.name', '=', name)
      .where('u.available_version', '=', version)
      .where('u.state', 'in', ['installed', 'failed'])
      .orderBy('u.id')
      .execute();
    for (const { arch, ...row } of rows) newest.set(`${row.agent_id} ${arch}`, row);
  }
  return [...newest.values()];
}

/** Leaves the updates of an undone installation to people: no policy asks for them again. */
export async function markTakenBack(tx: Tx, updateIds: readonly string[]): Promise<void> {
  for (const some of chunks(updateIds)) {
    await tx.updateTable('updates').set({ taken_back: 1 }).where('id', 'in', some).execute();
  }
}
