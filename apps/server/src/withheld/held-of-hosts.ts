import type { HeldBack } from '@tidegate/protocol/holds-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { hostsInScope, type ScopedHost, withTags } from '../agents/host-scope.ts';
import type { NamedPackage } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { anyIndexBut, fromHosts } from '../platform/db/from-hosts.ts';
import type { Platform } from '../platform/platform.ts';
import { heldBackView, heldOfHost } from './held-rules.ts';
import { IS_PENDING_THERE } from './store.ts';

/** What holds keep back of the updates that wait on each of these hosts; hosts without any are left out. */
export async function heldOfHosts(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  hosts: readonly Omit<ScopedHost, 'tags'>[],
): Promise<Map<string, HeldBack>> {
  const db = database.read;
  const found = new Map<string, HeldBack>();
  const holds = hosts.length === 0 ? [] : await holdsInForce(db, now());
  if (holds.length === 0) return found;
  const ecosystems = [...new Set(holds.flatMap((hold) => hold.ecosystems))];
  const updates = await pendingOn(db, { hosts, ecosystems });
  const scoped = await withTags(
    db,
    hosts.filter(({ id }) => updates.has(id)),
    holds.map(({ scope }) => scope),
  );
  for (const host of scoped) {
    const own = holds.filter(({ scope }) => hostsInScope(scope)(host));
    const { held } = heldOfHost(own, updates.get(host.id) ?? []);
    if (held.updates > 0) found.set(host.id, heldBackView(held));
  }
  return found;
}

type Pending = NamedPackage & { readonly isSecurity: boolean };

/** The updates of these ecosystems that wait on these hosts, by host. A page of hosts is read faster than the packages of a fleet. */
async function pendingOn(
  db: Db,
  { hosts, ecosystems }: { hosts: readonly { readonly id: string }[]; ecosystems: readonly Ecosystem[] },
): Promise<Map<string, Pending[]>> {
  const found = new Map<string, Pending[]>();
  for (const ids of chunks(hosts.map(({ id }) => id))) {
    const rows = await fromHosts(db, ids)
      .crossJoin('updates as u')
      .select(['u.agent_id', 'u.ecosystem', 'u.name', 'u.security'])
      .whereRef('u.agent_id', '=', 'h.id')
      .where(anyIndexBut('u.ecosystem'), 'in', ecosystems)
      .where(IS_PENDING_THERE)
      .execute();
    for (const { agent_id: id, ecosystem: text, name, security } of rows) {
      const ecosystem = ecosystems.find((one) => one === text);
      if (ecosystem === undefined) continue;
      const list = found.get(id) ?? [];
      list.push({ ecosystem, name, isSecurity: security === 1 });
      found.set(id, list);
    }
  }
  return found;
}
