import { partsOfTag } from '@tidegate/protocol/tags-api';
import { type SqlBool, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { opened, sealed } from '../platform/db/row-seals.ts';

/** Tags by host, as `key=value`. */
export type TagsByHost = Map<string, string[]>;

/** What operators set, by key, of rows whose seals hold: the only tags that decide anything. */
export async function operatorTags(db: Db, ids: readonly string[]): Promise<TagsByHost> {
  const found: TagsByHost = new Map();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db
      .selectFrom('host_tags')
      .selectAll()
      .where('agent_id', 'in', some)
      .orderBy('agent_id')
      .orderBy('key')
      .execute();
    for (const row of rows) if (opened(db, 'host_tags', row)) add(found, row);
  }
  return found;
}

/** Hosts that have a row with one of these keys, also one whose seal does not hold: lists of tags count it. */
export async function hostsWithKeys(
  db: Db,
  { ids, keys }: { ids: readonly string[]; keys: readonly string[] },
): Promise<Set<string>> {
  if (ids.length === 0 || keys.length === 0) return new Set();
  const rows = await db
    .selectFrom('host_tags')
    .select('agent_id')
    .distinct()
    .where('agent_id', 'in', ids)
    .where('key', 'in', keys)
    .execute();
  return new Set(rows.map(({ agent_id: id }) => id));
}

/** What hosts say of themselves, by key. */
export async function reportedTags(db: Db, ids: readonly string[]): Promise<TagsByHost> {
  const found: TagsByHost = new Map();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db
      .selectFrom('host_reported_tags')
      .selectAll()
      .where('agent_id', 'in', some)
      .orderBy('agent_id')
      .orderBy('key')
      .execute();
    for (const row of rows) add(found, row);
  }
  return found;
}

/** All tags for people: what operators set first. */
export async function tagsOfHosts(db: Db, ids: readonly string[]): Promise<TagsByHost> {
  const found = await operatorTags(db, ids);
  for (const [id, tags] of await reportedTags(db, ids)) found.set(id, [...(found.get(id) ?? []), ...tags]);
  return found;
}

function add(found: TagsByHost, { agent_id, key, value }: { agent_id: string; key: string; value: string }) {
  const tags = found.get(agent_id) ?? [];
  tags.push(`${key}=${value}`);
  found.set(agent_id, tags);
}

/** Sets and removes tags of a host that the transaction has locked. */
export async function changeTags(
  tx: Tx,
  change: {
    agentId: string;
    set: readonly string[];
    remove: readonly string[];
    by: string;
    atMs: number;
  },
): Promise<void> {
  const { agentId, set, remove, by, atMs } = change;
  const replaced = [...remove, ...set.map((tag) => partsOfTag(tag).key)];
  if (replaced.length > 0) {
    await tx.deleteFrom('host_tags').where('agent_id', '=', agentId).where('key', 'in', replaced).execute();
  }
  if (set.length === 0) return;
  const rows = set.map((tag) =>
    sealed(tx, 'host_tags', { agent_id: agentId, ...partsOfTag(tag), set_by: by, set_at: atMs }),
  );
  await tx.insertInto('host_tags').values(rows).execute();
}

/** Replaces what a host reports of itself. */
export async function saveReportedTags(
  tx: Tx,
  { agentId, tags }: { agentId: string; tags: readonly string[] },
): Promise<void> {
  await tx.deleteFrom('host_reported_tags').where('agent_id', '=', agentId).execute();
  if (tags.length === 0) return;
  const rows = tags.map((tag) => ({ agent_id: agentId, ...partsOfTag(tag) }));
  await tx.insertInto('host_reported_tags').values(rows).execute();
}

/** A deleted host has no tags: lists of tags count rows. */
export async function forgetTags(tx: Tx, agentId: string): Promise<void> {
  await tx.deleteFrom('host_tags').where('agent_id', '=', agentId).execute();
  await tx.deleteFrom('host_reported_tags').where('agent_id', '=', agentId).execute();
}

export interface TagCount {
  readonly key: string;
  readonly value: string;
  readonly hosts: number;
}

/** Tags with hosts that have them, by key and value; `after` is the last of the previous page. */
export async function listTags(
  db: Db,
  {
    scope,
    isReported,
    limit,
    after,
  }: {
    scope: GroupScope;
    isReported: boolean;
    limit: number;
    after: { key: string; value: string } | null;
  },
): Promise<TagCount[]> {
  const table = sql.table(isReported ? 'host_reported_tags' : 'host_tags');
  const behind = after ? sql<SqlBool>`(t.key, t.value) > (${after.key}, ${after.value})` : sql`1 = 1`;
  const inScope =
    scope === null
      ? sql`1 = 1`
      : sql<SqlBool>`EXISTS (SELECT 1 FROM agents AS a WHERE a.id = t.agent_id AND ${groupInScope(scope, 'a.group_name')})`;
  const { rows } = await sql<TagCount>`SELECT t.key, t.value, count(*) AS hosts FROM ${table} AS t
    WHERE ${behind} AND ${inScope} GROUP BY t.key, t.value ORDER BY t.key, t.value LIMIT ${limit}`.execute(
    db,
  );
  return rows.map((row) => ({ ...row, hosts: Number(row.hosts) }));
}
