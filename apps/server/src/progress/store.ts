import { CommandAction } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { findHostedCommand, type HostedCommand } from '../commands/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import type { UpdateRow } from '../updates/store.ts';
import type { WaitFacts } from './wait-rules.ts';

const OPEN = ['pending', 'sent', 'received', 'running'] as const;
/** Updates of one command whose names holds are compared with. */
const NAMES_MAX = 500;

/** The command that installs an update by its approval of now. */
export async function commandOf(
  db: Db,
  { id, approval_id: approvalId }: Pick<UpdateRow, 'id' | 'approval_id'>,
): Promise<HostedCommand | null> {
  if (approvalId === null) return null;
  const row = await db
    .selectFrom('command_updates as m')
    .innerJoin('agent_commands as c', 'c.id', 'm.command_id')
    .select('c.id')
    .where('m.update_id', '=', id)
    .where('c.approval_id', '=', approvalId)
    .orderBy('c.created_at', 'desc')
    .orderBy('c.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? findHostedCommand(db, row.id) : null;
}

/** The oldest command that a host has not ended, or else its newest. */
export async function currentCommand(db: Db, agentId: string): Promise<HostedCommand | null> {
  const ofHost = db.selectFrom('agent_commands').select('id').where('agent_id', '=', agentId);
  const open = ofHost.where(anyIndexBut('status'), 'in', OPEN).orderBy('created_at').orderBy('id');
  const newest = ofHost.orderBy('created_at', 'desc').orderBy('id', 'desc');
  const row = (await open.limit(1).executeTakeFirst()) ?? (await newest.limit(1).executeTakeFirst());
  return row ? findHostedCommand(db, row.id) : null;
}

/** What the host of a command works on instead of it. */
export async function commandAhead(
  db: Db,
  { id, agent_id: agentId, seq }: Pick<HostedCommand, 'id' | 'agent_id' | 'seq'>,
): Promise<WaitFacts['ahead']> {
  if (seq === null) return null;
  const row = await db
    .selectFrom('agent_commands')
    .select(['id', 'action'])
    .where('agent_id', '=', agentId)
    .where('id', '<>', id)
    .where((e) =>
      e.or([
        e(anyIndexBut('status'), '=', 'running'),
        e.and([e(anyIndexBut('status'), '=', 'received'), e('seq', '<', seq)]),
      ]),
    )
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return row ? { id: row.id, action: Value.Parse(CommandAction, row.action) } : null;
}

/** The packages whose updates a command names. */
export async function packagesOf(
  db: Db,
  commandId: string,
): Promise<Pick<UpdateRow, 'ecosystem' | 'name'>[]> {
  return db
    .selectFrom('command_updates as m')
    .innerJoin('updates as u', 'u.id', 'm.update_id')
    .select(['u.ecosystem', 'u.name'])
    .where('m.command_id', '=', commandId)
    .limit(NAMES_MAX)
    .execute();
}

/** The ring of a host in the rollout that carries a version now, and where that is. */
export async function ringOf(
  db: Db,
  update: Pick<UpdateRow, 'agent_id' | 'ecosystem' | 'name' | 'available_version'>,
): Promise<WaitFacts['ring']> {
  const row = await db
    .selectFrom('rollout_hosts as h')
    .innerJoin('rollouts as r', 'r.id', 'h.rollout_id')
    .innerJoin('rollout_packages as p', 'p.rollout_id', 'r.id')
    .select(['r.id', 'h.ring as own', 'r.ring as current'])
    .where('h.agent_id', '=', update.agent_id)
    .where('r.ended_at', 'is', null)
    .where('p.ecosystem', '=', update.ecosystem)
    .where('p.name', '=', update.name)
    .where('p.version', '=', update.available_version)
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}
