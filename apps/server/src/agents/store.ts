import type { RestartNeed } from '@tidegate/protocol/restarts';
import { type SqlBool, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Database, Db, HotSql, Tx } from '../platform/db/engine.ts';
import { hotSql, text } from '../platform/db/hot-sql.ts';
import type { Tables } from '../platform/db/tables.ts';

export type AgentRow = Tables['agents'] & {
  last_seen_at: number | null;
  /** From the open clone suspicion; both null when there is none. */
  clone_since: number | null;
  clone_evidence: string | null;
  /** Updates that wait for a decision. */
  pending_updates: number;
  /** Null without a report of the present boot. */
  services_restart: RestartNeed | null;
  reboot_need: RestartNeed | null;
};

/** An agent that is not deleted. */
export async function findAgent(db: Db, agentId: string): Promise<AgentRow | null> {
  const row = await shown(db).where('id', '=', agentId).executeTakeFirst();
  return row ?? null;
}

/** The system of an agent that is not deleted, as os-release names it. */
export async function osIdOf(db: Db, agentId: string): Promise<string | null> {
  const [row] = await db.run(OS_ID_OF, [agentId]);
  return row ? text(row[0]) : null;
}

const OS_ID_OF = hotSql('os_id_of', 'SELECT os_id FROM agents WHERE id = ? AND deleted_at IS NULL');

/** Those of these agents that are not deleted, by id. */
export async function findAgents(db: Db, ids: readonly string[]): Promise<Map<string, AgentRow>> {
  const found = new Map<string, AgentRow>();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await shown(db).where('id', 'in', some).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/** The ids of the agents with this id or this host name that are not deleted, at most two. */
export async function findAgentsNamed(db: Db, name: string): Promise<string[]> {
  const rows = await db
    .selectFrom('agents')
    .select('id')
    .where('deleted_at', 'is', null)
    .where(({ eb, or }) => or([eb('id', '=', name), eb('hostname', '=', name)]))
    .orderBy('id')
    .limit(2)
    .execute();
  return rows.map(({ id }) => id);
}

/** The agent bound to a machine, revoked or not; there is at most one (unique index). */
export async function findAgentOfMachine(db: Db, machineId: string): Promise<AgentRow | null> {
  const row = await shown(db).where('machine_id', '=', machineId).executeTakeFirst();
  return row ?? null;
}

/** Agents that are not deleted, with the data of their side tables. */
function present(db: Db) {
  return db
    .selectFrom('agents')
    .leftJoin('agent_presence', 'agent_presence.agent_id', 'id')
    .leftJoin('clone_suspicions as k', (join) =>
      join.onRef('k.agent_id', '=', 'id').on('k.closed_at', 'is', null),
    )
    .leftJoin('host_sums as h', 'h.agent_id', 'id')
    .leftJoin('agent_restarts as s', 's.agent_id', 'id')
    .where('deleted_at', 'is', null);
}

function shown(db: Db) {
  return present(db)
    .selectAll('agents')
    .select(['last_seen_at', 'k.since as clone_since', 'k.evidence as clone_evidence'])
    .select(['s.services as services_restart', 's.reboot as reboot_need'])
    .select((e) => e.fn.coalesce('h.pending', sql<number>`0`).as('pending_updates'));
}

/** Locks the agent's binding and status until the transaction ends; deleted agents are included. */
export async function lockBinding(
  tx: Tx,
  { engine, agentId }: { engine: Database['engine']; agentId: string },
): Promise<{
  machineId: string | null;
  status: 'active' | 'revoked' | 'deleted';
  bootId: string | null;
} | null> {
  const query = tx
    .selectFrom('agents')
    .select(['machine_id', 'status', 'deleted_at', 'boot_id'])
    .where('id', '=', agentId);
  const row = await (engine === 'postgres' ? query.forNoKeyUpdate() : query).executeTakeFirst();
  if (!row) return null;
  const status = row.deleted_at === null ? row.status : 'deleted';
  return { machineId: row.machine_id, status, bootId: row.boot_id };
}

/** The same of several agents on PostgreSQL; it leaves out those that another transaction has locked. */
export async function lockFreeBindings(
  tx: Tx,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, { machineId: string | null; status: 'active' | 'revoked' | 'deleted' }>> {
  const rows = await tx
    .selectFrom('agents')
    .select(['id', 'machine_id', 'status', 'deleted_at'])
    .where(sql<SqlBool>`id = ANY(${agentIds}::text[])`)
    .forNoKeyUpdate()
    .skipLocked()
    .execute();
  return new Map(
    rows.map((row) => {
      const status = row.deleted_at === null ? row.status : 'deleted';
      return [row.id, { machineId: row.machine_id, status }];
    }),
  );
}

/** Lets one transaction at a time decide whose a machine is. SQLite has one writer at a time anyway. */
export async function lockMachine(
  tx: Tx,
  { engine, machineId }: { engine: Database['engine']; machineId: string },
): Promise<void> {
  if (engine === 'postgres') {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${machineId}, 0))`.execute(tx);
  }
}

export async function insertAgent(tx: Tx, row: Tables['agents']): Promise<void> {
  await tx.insertInto('agents').values(row).execute();
}

/** Updates an agent that enrols again under its id; also withdraws its revocation. */
export async function reviveAgent(
  tx: Tx,
  { agentId, set }: { agentId: string; set: Partial<Omit<Tables['agents'], 'id' | 'machine_id'>> },
): Promise<void> {
  await tx
    .updateTable('agents')
    .set({ ...set, status: 'active', revoked_at: null })
    .where('id', '=', agentId)
    .execute();
}

/** Compare-and-swap, NULL to a machine id (invariant 14): false when it was meanwhile bound, revoked or deleted. */
export async function setMachine(
  tx: Tx,
  { agentId, machineId, atMs }: { agentId: string; machineId: string; atMs: number },
): Promise<boolean> {
  const result = await tx
    .updateTable('agents')
    .set({ machine_id: machineId, bound_at: atMs })
    .where('id', '=', agentId)
    .where('machine_id', 'is', null)
    .where('status', '=', 'active')
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** A machine id to NULL: only rebind does this, and it leaves an audit row. */
export async function clearMachine(tx: Tx, agentId: string): Promise<void> {
  await tx
    .updateTable('agents')
    .set({ machine_id: null, bound_at: null })
    .where('id', '=', agentId)
    .execute();
}

/** Compare-and-swap, active to revoked; keeps the first time of revocation. */
export async function markAgentRevoked(
  tx: Tx,
  { agentId, atMs }: { agentId: string; atMs: number },
): Promise<void> {
  const result = await tx
    .updateTable('agents')
    .set({ status: 'revoked', revoked_at: atMs })
    .where('id', '=', agentId)
    .where('status', '=', 'active')
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n) tx.context.revocations.push({ kind: 'agent', id: agentId, atMs });
}

export async function markAgentDeleted(
  tx: Tx,
  { agentId, atMs }: { agentId: string; atMs: number },
): Promise<void> {
  const result = await tx
    .updateTable('agents')
    .set({ deleted_at: atMs })
    .where('id', '=', agentId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (result.numUpdatedRows === 1n) tx.context.revocations.push({ kind: 'deleted_agent', id: agentId, atMs });
}

export async function setPollingInterval(
  tx: Tx,
  { agentId, seconds }: { agentId: string; seconds: number },
): Promise<void> {
  await tx
    .updateTable('agents')
    .set({ polling_interval_seconds: seconds })
    .where('id', '=', agentId)
    .execute();
}

/** False until the first host has ever enrolled. */
export async function hasAgents(db: Db): Promise<boolean> {
  return (await db.selectFrom('agents').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** Number of active agents with a key set of at least this version. */
export async function countAgentsWithKeySet(db: Db, version: number): Promise<number> {
  const row = await db
    .selectFrom('agents')
    .select((e) => e.fn.countAll<number>().as('total'))
    .where('status', '=', 'active')
    .where('deleted_at', 'is', null)
    .where('key_set_version', '>=', version)
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/**
 * Locks an agent's row for this transaction, so that its reports and deliveries are serialised. Returns the next command
 * sequence number, or null when there is no such agent.
 */
export async function lockAgent(tx: Tx, agentId: string): Promise<{ nextSeq: number } | null> {
  const [row] = await tx.run(LOCK_AGENT, [agentId]);
  return row ? { nextSeq: Number(row[0]) } : null;
}

const LOCK_AGENT: HotSql = {
  name: 'lock_agent',
  // A transaction on SQLite is the only one that writes.
  sqlite: 'SELECT next_seq FROM agents WHERE id = ? AND deleted_at IS NULL',
  postgres: 'SELECT next_seq FROM agents WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
};

/** Sequence numbers rise for the life of an agent; the caller holds its lock. */
export async function setNextSeq(tx: Tx, args: { agentId: string; nextSeq: number }): Promise<void> {
  await tx.updateTable('agents').set({ next_seq: args.nextSeq }).where('id', '=', args.agentId).execute();
}
