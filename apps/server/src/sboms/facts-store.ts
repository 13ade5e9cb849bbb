import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';

/** The hosts that a document is about: one, or those of a group. */
export type Target =
  | { readonly kind: 'host'; readonly agentId: string }
  | { readonly kind: 'group'; readonly group: string };

/** Active hosts by id, at most `limit`. */
export async function hostsOf(db: Db, target: Target, limit: number) {
  const hosts = db
    .selectFrom('agents')
    .select(['id', 'hostname', 'os_id', 'os_version_id', 'group_name'])
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .limit(limit);
  if (target.kind === 'host') return hosts.where('id', '=', target.agentId).execute();
  return hosts.where('status', '=', 'active').where('group_name', '=', target.group).execute();
}

export type HostRow = Awaited<ReturnType<typeof hostsOf>>[number];

/** The newest reports of these hosts. */
export async function reportsOf(db: Db, ids: readonly string[]) {
  const found = [];
  for (const some of chunks(ids)) {
    const reports = db.selectFrom('inventory_reports').select(['agent_id', 'received_at', 'complete']);
    found.push(...(await reports.where('agent_id', 'in', some).execute()));
  }
  return found;
}

/** The updates of these packages that a host has installed. */
export async function installedUpdatesOf(
  db: Db,
  { agentId, ecosystem, names }: { agentId: string; ecosystem: string; names: readonly string[] },
) {
  return db
    .selectFrom('updates')
    .select(['name', 'arch', 'current_version', 'available_version'])
    .where('agent_id', '=', agentId)
    .where('ecosystem', '=', ecosystem)
    .where('name', 'in', names)
    .where('state', '=', 'installed')
    .execute();
}
