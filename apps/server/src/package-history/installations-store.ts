import { type SqlBool, sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';

/** An installation that a host was given. */
export interface InstallationRow {
  readonly id: string;
  readonly sent_at: number;
  /** When the server last heard of it; null: not since it was sent. */
  readonly heard_at: number | null;
  readonly plan_id: string | null;
  readonly approved_by: string | null;
  readonly policy_id: string | null;
}

/** Of one host, those given until a time and heard of since another; the newest first. */
export async function installationsOf(
  db: Db,
  {
    agentId,
    sentUntilMs,
    heardSinceMs,
    limit,
  }: { agentId: string; sentUntilMs: number; heardSinceMs: number; limit: number },
): Promise<InstallationRow[]> {
  return db
    .selectFrom('agent_commands as c')
    .leftJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .select((e) => ['c.id', e.ref('c.sent_at').$notNull().as('sent_at')])
    .select(sql<number | null>`c.changed_at`.as('heard_at'))
    .select(['a.plan_id', 'a.approved_by', 'a.policy_id'])
    .where('c.agent_id', '=', agentId)
    .where('c.created_at', '<=', sentUntilMs)
    .where(anyIndexBut('c.action'), '=', 'install_update')
    .where('c.sent_at', '<=', sentUntilMs)
    .where(sql<SqlBool>`coalesce(c.changed_at, c.sent_at) >= ${heardSinceMs}`)
    .orderBy('c.sent_at', 'desc')
    .orderBy('c.id', 'desc')
    .limit(limit)
    .execute();
}

export interface NamedUpdate {
  readonly id: string;
  readonly ecosystem: string;
  readonly name: string;
  readonly arch: string;
  readonly available_version: string;
}

/** The updates that a command names, by id. */
export async function updatesNamedBy(db: Db, commandId: string): Promise<NamedUpdate[]> {
  return db
    .selectFrom('command_updates as m')
    .innerJoin('updates as u', 'u.id', 'm.update_id')
    .select(['u.id', 'u.ecosystem', 'u.name', 'u.arch', 'u.available_version'])
    .where('m.command_id', '=', commandId)
    .orderBy('u.id')
    .execute();
}
