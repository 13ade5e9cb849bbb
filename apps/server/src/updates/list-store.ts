import type { UpdateFilter } from '@tidegate/protocol/updates-api';
import { sql } from 'kysely';
import type { Db } from '../platform/db/engine.ts';
import { type GroupScope, groupInScope } from '../platform/db/group-scope.ts';
import { UPDATE_TRANSITIONS } from './transition-rules.ts';

/** Which updates a caller means: a filter, within what it may see of the fleet. */
export interface UpdateSelection {
  filter: UpdateFilter;
  scope: GroupScope;
}

/** The updates that a filter means; lists, counts and bulk requests all start from it. */
export function filteredUpdates(db: Db, { filter, scope }: UpdateSelection) {
  let query = db.selectFrom('updates as u').innerJoin('agents as a', 'a.id', 'u.agent_id');
  query = query.where('a.deleted_at', 'is', null);
  if (scope !== null) query = query.where(groupInScope(scope, 'a.group_name'));
  if (filter.state !== undefined) query = query.where('u.state', '=', filter.state);
  if (filter.ecosystem !== undefined) query = query.where('u.ecosystem', '=', filter.ecosystem);
  if (filter.name !== undefined) query = query.where('u.name', '=', filter.name);
  if (filter.q !== undefined) {
    query = query.where(sql<boolean>`lower(u.name) LIKE ${containing(filter.q)} ESCAPE '\\'`);
  }
  if (filter.agent_id !== undefined) query = query.where('u.agent_id', '=', filter.agent_id);
  if (filter.group !== undefined) query = query.where('a.group_name', '=', filter.group);
  if (filter.severity !== undefined) query = query.where('u.severity', '=', filter.severity);
  if (filter.verdict !== undefined) query = query.where('u.verdict', '=', filter.verdict);
  if (filter.security !== undefined) query = query.where('u.security', '=', truth(filter.security));
  if (filter.since !== undefined) query = query.where('u.discovered_at', '>=', Date.parse(filter.since));
  if (filter.until !== undefined) query = query.where('u.discovered_at', '<', Date.parse(filter.until));
  return query;
}

function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
}

function truth(value: 'true' | 'false' | boolean): number {
  return value === true || value === 'true' ? 1 : 0;
}

export type ListedUpdate = Awaited<ReturnType<typeof listUpdates>>[number];

/** Newest first; `before` is the id of the last update of the page before. */
export async function listUpdates(
  db: Db,
  { limit, before, ...selection }: UpdateSelection & { limit: number; before: string | null },
) {
  let query = filteredUpdates(db, selection).selectAll('u').select('a.hostname').orderBy('u.id', 'desc');
  if (before !== null) query = query.where('u.id', '<', before);
  return query.limit(limit).execute();
}

/** Null where there is none, and where it is out of the scope. */
export async function listedUpdate(
  db: Db,
  { id, scope }: { id: string; scope: GroupScope },
): Promise<ListedUpdate | null> {
  const row = await filteredUpdates(db, { filter: {}, scope })
    .selectAll('u')
    .select('a.hostname')
    .where('u.id', '=', id)
    .executeTakeFirst();
  return row ?? null;
}

export async function countUpdates(db: Db, selection: UpdateSelection): Promise<number> {
  const row = await filteredUpdates(db, selection)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

export interface PackageRow {
  ecosystem: string;
  name: string;
  hosts: number;
  updates: number;
  availableVersions: number;
  newestUpdateAtMs: number;
  security: boolean;
  states: Record<string, number>;
}

/** Updates rolled up by package over hosts, by ecosystem and name; `after` is the key of the last one before. */
export async function listPackages(
  db: Db,
  args: UpdateSelection & { limit: number; after: { ecosystem: string; name: string } | null },
): Promise<PackageRow[]> {
  const { after, limit } = args;
  let query = filteredUpdates(db, args)
    .select(({ fn }) => [
      'u.ecosystem',
      'u.name',
      fn.count<number>('u.agent_id').distinct().as('hosts'),
      fn.countAll<number>().as('updates'),
      fn.count<number>('u.available_version').distinct().as('versions'),
      fn.max('u.discovered_at').as('newest'),
      fn.max('u.security').as('security'),
    ])
    .select(STATES.map((state) => countOf(state).as(state)));
  if (after) {
    const { ecosystem, name } = after;
    query = query.where((e) =>
      e.or([
        e('u.ecosystem', '>', ecosystem),
        e.and([e('u.ecosystem', '=', ecosystem), e('u.name', '>', name)]),
      ]),
    );
  }
  const rows = await query
    .groupBy(['u.ecosystem', 'u.name'])
    .orderBy('u.ecosystem')
    .orderBy('u.name')
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    ecosystem: row.ecosystem,
    name: row.name,
    hosts: Number(row.hosts),
    updates: Number(row.updates),
    availableVersions: Number(row.versions),
    newestUpdateAtMs: Number(row.newest),
    security: row.security === 1,
    states: Object.fromEntries(
      Object.entries(row)
        .filter(([column, count]) => column in UPDATE_TRANSITIONS && Number(count) > 0)
        .map(([state, count]) => [state, Number(count)]),
    ),
  }));
}

const STATES = Object.keys(UPDATE_TRANSITIONS);

function countOf(state: string) {
  return sql<number>`sum(CASE WHEN u.state = ${state} THEN 1 ELSE 0 END)`;
}

export async function countPackages(db: Db, selection: UpdateSelection): Promise<number> {
  const packages = filteredUpdates(db, selection).select(['u.ecosystem', 'u.name']).distinct().as('p');
  const row = await db
    .selectFrom(packages)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}
