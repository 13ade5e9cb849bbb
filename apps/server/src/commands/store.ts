import type { CommandAction, CommandStatus } from '@tidegate/protocol/states';
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import { PATIENCE_MS } from '../agents/patience-store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Covered } from '../platform/db/create-row-seals.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { anyIndexBut } from '../platform/db/from-hosts.ts';
import { agentInScope, type GroupScope } from '../platform/db/group-scope.ts';
import { type Opened, opened, sealed } from '../platform/db/row-seals.ts';
import type { Tables } from '../platform/db/tables.ts';

export type CommandRow = Selectable<Tables['agent_commands']>;
/** A row whose seal was verified, so that its columns can be trusted. */
export type OpenedCommand = CommandRow & Opened<'agent_commands'>;
type NewRow = Omit<Insertable<Tables['agent_commands']>, 'seal'> & Covered<'agent_commands'>;
/** A command with the name of its host, for operators. */
export type HostedCommand = CommandRow & { hostname: string };

/** A command with the updates that its parameters name. */
export interface InsertedCommand {
  readonly row: NewRow;
  readonly updateIds: readonly string[];
}

export async function insertCommands(tx: Tx, commands: readonly InsertedCommand[]): Promise<void> {
  const values = commands.map(({ row }) => sealed(tx, 'agent_commands', row));
  for (const some of chunks(values)) await tx.insertInto('agent_commands').values(some).execute();
  const named = commands.flatMap(({ row: { id: command_id }, updateIds }) =>
    updateIds.map((update_id) => ({ command_id, update_id })),
  );
  for (const some of chunks(named)) await tx.insertInto('command_updates').values(some).execute();
}

export async function findCommand(db: Db, id: string): Promise<CommandRow | null> {
  return (await db.selectFrom('agent_commands').selectAll().where('id', '=', id).executeTakeFirst()) ?? null;
}

export async function findHostedCommand(db: Db, id: string): Promise<HostedCommand | null> {
  const query = db.selectFrom('agent_commands').innerJoin('agents', 'agents.id', 'agent_commands.agent_id');
  const row = query.selectAll('agent_commands').select('agents.hostname').where('agent_commands.id', '=', id);
  return (await row.executeTakeFirst()) ?? null;
}

/** The newest installation that names an update and has ended, where this server ordered it. */
export async function lastInstallationOf(db: Db, updateId: string): Promise<OpenedCommand | null> {
  const row = await db
    .selectFrom('command_updates as m')
    .innerJoin('agent_commands as c', 'c.id', 'm.command_id')
    .selectAll('c')
    .where('m.update_id', '=', updateId)
    .where('c.action', '=', 'install_update')
    .where('c.status', 'in', ['success', 'failed', 'interrupted'])
    .orderBy('c.created_at', 'desc')
    .orderBy('c.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return opened(db, 'agent_commands', row);
}

/** Compare-and-swap: true if the command was in one of the statuses and has changed. */
export async function compareAndSwapStatus(
  tx: Tx,
  args: {
    id: string;
    from: readonly CommandStatus[];
    change: Updateable<Tables['agent_commands']>;
    nowMs: number;
  },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('agent_commands')
    .set({ ...args.change, changed_at: args.nowMs })
    .where('id', '=', args.id)
    .where('status', 'in', args.from)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function markReceived(
  tx: Tx,
  args: { agentId: string; ids: readonly string[]; nowMs: number },
): Promise<void> {
  if (args.ids.length === 0) return;
  await tx
    .updateTable('agent_commands')
    .set({ status: 'received', received_at: args.nowMs, changed_at: args.nowMs })
    .where('agent_id', '=', args.agentId)
    .where('id', 'in', args.ids)
    .where('status', '=', 'sent')
    .execute();
}

/** Commands to deliver for the first time or again, oldest first. */
export async function deliverable(
  tx: Tx,
  args: { agentId: string; nowMs: number; limit: number; without?: readonly CommandAction[] },
): Promise<CommandRow[]> {
  const { without = [] } = args;
  const due = tx
    .selectFrom('agent_commands')
    .selectAll()
    .where('agent_id', '=', args.agentId)
    .where('status', 'in', ['pending', 'sent'])
    .where('not_before', '<=', args.nowMs);
  // PostgreSQL knows no empty list.
  return (without.length > 0 ? due.where('action', 'not in', without) : due)
    .orderBy('created_at')
    .orderBy('id')
    .limit(args.limit)
    .execute();
}

/** Those that update the agent itself: what an agent that is too old still needs. */
export async function ownUpdates(db: Db, commands: readonly CommandRow[]): Promise<CommandRow[]> {
  const installs = commands.filter(({ action }) => action === 'install_update').map(({ id }) => id);
  const rows =
    installs.length === 0
      ? []
      : await db
          .selectFrom('command_updates as m')
          .innerJoin('updates as u', 'u.id', 'm.update_id')
          .select('m.command_id')
          .distinct()
          .where('m.command_id', 'in', installs)
          .where('u.ecosystem', '=', 'tidegate')
          .execute();
  const own = new Set(rows.map(({ command_id }) => command_id));
  return commands.filter(({ id, action }) => action === 'update_agent' || own.has(id));
}

/** Whose overdue commands end: those of a host that is checking in, or of all hosts of a server that listens since then. */
export type Overdue = { readonly agentId: string } | { readonly listeningSince: number };

/**
 * Open commands past their end. Of all hosts without those that a host may have and had no time to say so: it has three of
 * its intervals, during which the server listened.
 */
export async function overdue(
  db: Db,
  { of, nowMs, limit }: { of: Overdue; nowMs: number; limit: number },
): Promise<CommandRow[]> {
  const open = db
    .selectFrom('agent_commands as c')
    .selectAll('c')
    .where('c.status', 'in', ['pending', 'sent'])
    .where('c.expires_at', '<=', nowMs)
    .orderBy('c.id')
    .limit(limit);
  if ('agentId' in of) return open.where('c.agent_id', '=', of.agentId).execute();
  const silentSince = sql<number>`${sql.lit(nowMs)} - ${PATIENCE_MS}`;
  return open
    .innerJoin('agents as a', 'a.id', 'c.agent_id')
    .where((e) =>
      e.or([
        e('c.status', '=', 'pending'),
        e.and([e('c.sent_at', '<=', silentSince), e(sql.lit(of.listeningSince), '<=', silentSince)]),
      ]),
    )
    .execute();
}

/** Commands that were queued after a time and that no host has been given. */
export async function queuedAhead(
  db: Db,
  { aheadMs, limit }: { aheadMs: number; limit: number },
): Promise<CommandRow[]> {
  return db
    .selectFrom('agent_commands')
    .selectAll()
    .where('status', '=', 'pending')
    .where('created_at', '>', aheadMs)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** The open commands that name one of these updates, by id. */
export async function openCommandsOfUpdates(tx: Tx, updateIds: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const some of chunks(updateIds)) {
    const rows = await tx
      .selectFrom('command_updates as m')
      .innerJoin('agent_commands as c', 'c.id', 'm.command_id')
      .select('c.id')
      .distinct()
      .where('m.update_id', 'in', some)
      .where('c.status', 'in', ['pending', 'sent'])
      .execute();
    for (const { id } of rows) found.add(id);
  }
  return [...found];
}

/** The newest request for a plan that names this update. */
export async function newestPlanRequest(db: Db, updateId: string): Promise<CommandRow | null> {
  const row = await db
    .selectFrom('command_updates as m')
    .innerJoin('agent_commands as c', 'c.id', 'm.command_id')
    .selectAll('c')
    .where('m.update_id', '=', updateId)
    .where('c.action', '=', 'plan_update')
    .orderBy('c.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * The commands of these that may still install: their token is neither void nor expired nor issued later, and an update that
 * it names is still approved. One statement that joins the tables of updates and approvals.
 */
export async function stillApproved(
  tx: Tx,
  args: { commandIds: readonly string[]; nowMs: number; issuedUntilMs?: number },
): Promise<Set<string>> {
  if (args.commandIds.length === 0) return new Set();
  const rows = await tx
    .selectFrom('agent_commands as c')
    .innerJoin('approvals as a', 'a.token_id', 'c.approval_id')
    .select('c.id')
    .where('c.id', 'in', args.commandIds)
    .whereRef('a.agent_id', '=', 'c.agent_id')
    .where('a.voided_at', 'is', null)
    .where('a.expires_at', '>', args.nowMs)
    .where('a.issued_at', '<=', args.issuedUntilMs ?? Number.MAX_SAFE_INTEGER)
    .where((e) =>
      e.exists(
        e
          .selectFrom('approval_updates as m')
          .innerJoin('updates as u', 'u.id', 'm.update_id')
          .select('u.id')
          .whereRef('m.token_id', '=', 'a.token_id')
          .where('u.state', '=', 'approved'),
      ),
    )
    .execute();
  return new Set(rows.map((row) => row.id));
}

/** Whether a repair of the host was ordered since then and has not ended. */
export async function hasOpenRepair(db: Db, of: { agentId: string; sinceMs: number }): Promise<boolean> {
  const row = await commandsSince(db, of)
    .where(anyIndexBut('action'), '=', 'repair')
    .select('id')
    .where('status', 'in', ['pending', 'sent', 'received', 'running'])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Asks the agent that has a reboot to call it off; false where it has none. */
export async function callOffReboot(
  tx: Tx,
  args: { id: string; reason: string; nowMs: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('agent_commands')
    .set({ called_off_at: args.nowMs, reason: args.reason, changed_at: args.nowMs })
    .where('id', '=', args.id)
    .where('action', '=', 'reboot')
    .where('status', 'in', ['received', 'running'])
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Commands without an approval that root carries out: the agent state says which of them were cancelled. */
const ROOT_ACTIONS = ['repair', 'reboot', 'restart_services'];

/** Those queued since then that were cancelled or called off after the agent was given them, newest first. */
export async function deliveredVoidCommands(
  db: Db,
  { limit, ...of }: { agentId: string; sinceMs: number; limit: number },
): Promise<{ id: string; sent_at: number }[]> {
  return commandsSince(db, of)
    .where('action', 'in', ROOT_ACTIONS)
    .select((eb) => ['id', eb.ref('sent_at').$notNull().as('sent_at')])
    .where((eb) => eb.or([eb('status', '=', 'cancelled'), eb('called_off_at', 'is not', null)]))
    .where('sent_at', 'is not', null)
    .orderBy('sent_at', 'desc')
    .limit(limit)
    .execute();
}

function commandsSince(db: Db, { agentId, sinceMs }: { agentId: string; sinceMs: number }) {
  return db.selectFrom('agent_commands').where('agent_id', '=', agentId).where('created_at', '>', sinceMs);
}

export interface CommandFilter {
  agentId?: string | undefined;
  updateId?: string | undefined;
  status?: CommandStatus | undefined;
  action?: string | undefined;
}

/** The commands that a caller means: a filter, within the caller's scope. */
export interface CommandSelection {
  filter: CommandFilter;
  scope: GroupScope;
}

/** Newest first; `before` is the last id of the previous page. */
export async function listCommands(
  db: Db,
  args: CommandSelection & { limit: number; before: string | null },
): Promise<HostedCommand[]> {
  let query = filtered(db, args)
    .innerJoin('agents', 'agents.id', 'agent_commands.agent_id')
    .selectAll('agent_commands')
    .select('agents.hostname')
    .orderBy('agent_commands.id', 'desc')
    .limit(args.limit);
  if (args.before !== null) query = query.where('agent_commands.id', '<', args.before);
  return query.execute();
}

function commandsOfUpdate(db: Db, updateId: string) {
  return db.selectFrom('command_updates').select('command_id').where('update_id', '=', updateId);
}

function filtered(db: Db, { filter, scope }: CommandSelection) {
  let query = db.selectFrom('agent_commands');
  if (scope !== null) query = query.where(agentInScope(scope, 'agent_commands.agent_id'));
  if (filter.agentId !== undefined) query = query.where('agent_commands.agent_id', '=', filter.agentId);
  const { updateId } = filter;
  if (updateId !== undefined) query = query.where('agent_commands.id', 'in', commandsOfUpdate(db, updateId));
  // Those of a host or an update are few; of a status or an action the fleet has many.
  const isNarrow = filter.agentId !== undefined || updateId !== undefined;
  const column = (name: 'agent_commands.status' | 'agent_commands.action') =>
    isNarrow ? anyIndexBut(name) : name;
  if (filter.status !== undefined) query = query.where(column('agent_commands.status'), '=', filter.status);
  if (filter.action !== undefined) query = query.where(column('agent_commands.action'), '=', filter.action);
  return query;
}
