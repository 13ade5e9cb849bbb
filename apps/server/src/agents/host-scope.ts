import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { isReported } from '@tidegate/protocol/tags-api';
import type { Db } from '../platform/db/engine.ts';
import { hasTag } from './filter-store.ts';
import { findAgents } from './store.ts';
import { operatorTags } from './tag-store.ts';

/** A host as scopes see it: `withTags` makes one. */
export interface ScopedHost {
  readonly id: string;
  readonly group: string | null;
  /** What operators set, never what the host reports of itself. */
  readonly tags: readonly string[];
}

/** Whether a host is one of a scope: all of the fleet, or what one of its lists names. */
export function hostsInScope(scope: PolicyScope): (host: ScopedHost) => boolean {
  if (scope.kind === 'all') return () => true;
  const [groups, hosts, tags] = [new Set(scope.groups), new Set(scope.hosts), new Set(scope.tags)];
  return (host) =>
    hosts.has(host.id) ||
    (host.group !== null && groups.has(host.group)) ||
    host.tags.some((tag) => tags.has(tag) && !isReported(tag));
}

/** Adds the tags that these scopes go by: nothing is read where none of them names a tag. */
export async function withTags<H extends Omit<ScopedHost, 'tags'>>(
  db: Db,
  hosts: readonly H[],
  scopes: readonly PolicyScope[],
): Promise<(H & ScopedHost)[]> {
  const isAsked = scopes.some((scope) => scope.kind === 'some' && (scope.tags ?? []).length > 0);
  const ids = isAsked ? hosts.map(({ id }) => id) : [];
  const tags = await operatorTags(db, ids);
  return hosts.map((host) => ({ ...host, tags: tags.get(host.id) ?? [] }));
}

/** What is wrong with a scope of the right form, and where; null if nothing is. */
export async function scopeFault(
  db: Db,
  scope: PolicyScope,
): Promise<{ path: string; message: string } | null> {
  if (scope.kind === 'all') return null;
  const { groups, hosts, tags = [] } = scope;
  if (groups.length + hosts.length + tags.length === 0) {
    return { path: '/scope', message: 'must name a group, a tag or a host' };
  }
  // A host could enter or leave the scope by what it says of itself.
  const reported = tags.find(isReported);
  if (reported !== undefined) {
    const message = `must not name ${reported}: hosts report it of themselves. Use a tag that operators set`;
    return { path: '/scope/tags', message };
  }
  // A host that is not there is a slip of the pen: the one that was meant would be left out in silence.
  const found = await findAgents(db, hosts);
  const missing = hosts.find((id) => !found.has(id));
  if (missing === undefined) return null;
  return { path: '/scope/hosts', message: `must name enrolled hosts; ${missing} is none` };
}

/** The active hosts of a scope, as the start of a query that counts or shows: seals of tags are not looked at. */
export function activeHostsIn(db: Db, scope: PolicyScope) {
  const active = db
    .selectFrom('agents as a')
    .where('a.status', '=', 'active')
    .where('a.deleted_at', 'is', null);
  if (scope.kind === 'all') return active;
  const { groups, hosts, tags = [] } = scope;
  return active.where(({ eb, or }) =>
    // PostgreSQL knows no empty list.
    or([
      ...(groups.length > 0 ? [eb('a.group_name', 'in', groups)] : []),
      ...(hosts.length > 0 ? [eb('a.id', 'in', hosts)] : []),
      ...tags.filter((tag) => !isReported(tag)).map((tag) => hasTag(tag)),
    ]),
  );
}
