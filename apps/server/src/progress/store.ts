import { Envelope } from '@tidegate/protocol/documents';
import { CommandAction } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { storedApproval } from '../approval-tokens/store.ts';
import { findHostedCommand, type HostedCommand } from '../commands/store.ts';
import { updatesNamedBy } from '../package-history/installations-store.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import type { UpdateRow } from '../updates/store.ts';
import type { WaitFacts } from './wait-rules.ts';

const OPEN = ['pending', 'sent', 'received', 'running'] as const;

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

/** How the executor refuses an approval that only the server has signed, where its host demands more. */
const UNSIGNED = 'host_policy (second_signature_missing)';

/**
 * An update of an open installation whose approval only the server has signed, where the host has refused such an
 * approval and has accepted none since. Null otherwise: the server does not know what the policy of a host demands.
 */
export async function unsignedUpdate(
  db: Db,
  { id, agent_id: agentId, approval_id: approvalId, status }: HostedCommand,
): Promise<WaitFacts['unsigned']> {
  if (approvalId === null || !OPEN.some((one) => one === status)) return null;
  const approval = await storedApproval(db, approvalId);
  if (!approval || signaturesOf(approval.envelope) > 1 || !(await refusesUnsigned(db, agentId))) return null;
  const [update] = await updatesNamedBy(db, id);
  return update ? { updateId: update.id } : null;
}

async function refusesUnsigned(db: Db, agentId: string): Promise<boolean> {
  const ended = db
    .selectFrom('agent_commands as c')
    .where('c.agent_id', '=', agentId)
    .where(anyIndexBut('c.action'), '=', 'install_update')
    .orderBy('c.created_at', 'desc')
    .orderBy('c.id', 'desc')
    .limit(1);
  const refused = await ended
    .select('c.created_at')
    .where(anyIndexBut('c.status'), '=', 'refused')
    .where('c.reason', 'like', `${UNSIGNED}%`)
    .executeTakeFirst();
  if (!refused) return false;
  const accepted = await ended
    .innerJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .select('a.envelope')
    .where(anyIndexBut('c.status'), '=', 'success')
    .where('c.created_at', '>', refused.created_at)
    .executeTakeFirst();
  return !accepted || signaturesOf(accepted.envelope) > 1;
}

function signaturesOf(envelope: string): number {
  return Value.Parse(Envelope, JSON.parse(envelope)).signatures.length;
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
