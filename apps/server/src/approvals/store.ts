import type { ApprovalRow } from '../approval-tokens/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import { listOpened, type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

export type AgeExceptionRow = Opened<'age_exceptions'>;

/**
 * An agent's approvals that were delivered by a command and have become void or expired since, last issued first. The query
 * starts with commands: each approval has one, and one agent has few.
 */
export async function deliveredVoidApprovals(
  db: Db,
  args: { agentId: string; nowMs: number; expiresAfterMs: number; limit: number },
): Promise<Pick<ApprovalRow, 'token_id' | 'issued_at'>[]> {
  return db
    .selectFrom('agent_commands as c')
    .innerJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .select(['a.token_id', 'a.issued_at'])
    .distinct()
    .where('c.agent_id', '=', args.agentId)
    .where('c.sent_at', 'is not', null)
    .where((e) => e.or([e('a.voided_at', 'is not', null), e('a.expires_at', '<=', args.nowMs)]))
    .where('a.expires_at', '>', args.expiresAfterMs)
    .orderBy('a.issued_at', 'desc')
    .orderBy('a.token_id')
    .limit(args.limit)
    .execute();
}

/** The approval that the newest installation of an update names; null: no command installs it. */
export async function approvalOfNewestCommand(db: Db, updateId: string): Promise<ApprovalRow | null> {
  const row = await db
    .selectFrom('command_updates as m')
    .innerJoin('agent_commands as c', 'c.id', 'm.command_id')
    .innerJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .selectAll('a')
    .where('m.update_id', '=', updateId)
    .where(anyIndexBut('c.action'), '=', 'install_update')
    .orderBy('c.created_at', 'desc')
    .orderBy('c.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

export async function insertAgeException(tx: Tx, row: Unsealed<'age_exceptions'>): Promise<AgeExceptionRow> {
  const values = sealed(tx, 'age_exceptions', row);
  const inserted = await tx.insertInto('age_exceptions').values(values).returningAll().executeTakeFirst();
  const exception = opened(tx, 'age_exceptions', inserted);
  if (!exception) throw new Error('a newly sealed age exception does not open');
  return exception;
}

/** Ends an exception, also one with a broken seal; null when there is none, or it was already ended. */
export async function deleteAgeException(
  tx: Tx,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<Unsealed<'age_exceptions'> | null> {
  const row = await tx
    .updateTable('age_exceptions')
    .set({ deleted_at: nowMs, seal: null })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

export async function findAgeException(db: Db, id: string): Promise<AgeExceptionRow | null> {
  const query = db.selectFrom('age_exceptions').selectAll().where('id', '=', id);
  return opened(db, 'age_exceptions', await query.where('deleted_at', 'is', null).executeTakeFirst());
}

/** Newest first, including expired ones; `before` is the last id of the previous page. */
export async function listAgeExceptions(
  db: Db,
  { limit, before }: { limit: number; before: string | null },
): Promise<AgeExceptionRow[]> {
  return listOpened(db, 'age_exceptions', {
    ...{ limit, after: before, keyOf: ({ id }) => id },
    page(last) {
      const query = db.selectFrom('age_exceptions').selectAll().where('deleted_at', 'is', null);
      const page = last === null ? query : query.where('id', '<', last);
      return page.orderBy('id', 'desc').limit(limit).execute();
    },
  });
}

export async function countAgeExceptions(db: Db): Promise<number> {
  const row = await db
    .selectFrom('age_exceptions')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** Exceptions in force for versions of an ecosystem. */
export async function liveAgeExceptions(
  db: Db,
  { ecosystem, versions, nowMs }: { ecosystem: string; versions: readonly string[]; nowMs: number },
): Promise<AgeExceptionRow[]> {
  const found: AgeExceptionRow[] = [];
  for (const some of chunks([...new Set(versions)])) {
    const rows = await db
      .selectFrom('age_exceptions')
      .selectAll()
      .where('ecosystem', '=', ecosystem)
      .where('version', 'in', some)
      .where('deleted_at', 'is', null)
      .where('expires_at', '>', nowMs)
      .execute();
    found.push(...rows.flatMap((row) => opened(db, 'age_exceptions', row) ?? []));
  }
  return found;
}
