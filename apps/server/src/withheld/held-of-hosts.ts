import type { HeldBack } from '@tidegate/protocol/holds-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { hostsInScope, type ScopedHost, withTags } from '../agents/host-scope.ts';
import { namesPackage } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { heldBackView, heldOfHost, type NamedPackage } from './held-rules.ts';
import { pendingPackages } from './held-store.ts';
import { IS_PENDING } from './store.ts';

/** What holds keep back of the updates that wait on each of these hosts; hosts without any are left out. */
export async function heldOfHosts(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  hosts: readonly Omit<ScopedHost, 'tags'>[],
): Promise<Map<string, HeldBack>> {
  const db = database.read;
  const found = new Map<string, HeldBack>();
  const holds = hosts.length === 0 ? [] : await holdsInForce(db, now());
  if (holds.length === 0) return found;
  const named = (await pendingPackages(db)).filter((one) => holds.some((hold) => namesPackage(hold, one)));
  const updates = await pendingOn(db, { hosts, names: [...new Set(named.map(({ name }) => name))] });
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

/** The updates of packages with these names that wait on these hosts, by host. */
async function pendingOn(
  db: Db,
  { hosts, names }: { hosts: readonly { readonly id: string }[]; names: readonly string[] },
): Promise<Map<string, Pending[]>> {
  const found = new Map<string, Pending[]>();
  const ids = hosts.map(({ id }) => id);
  for (const some of chunks(names)) {
    for (const part of chunks(ids)) {
      const rows = await db
        .selectFrom('updates as u')
        .select(['u.agent_id', 'u.ecosystem', 'u.name', 'u.security'])
        .where('u.agent_id', 'in', part)
        .where('u.name', 'in', some)
        .where(IS_PENDING)
        .execute();
      for (const { agent_id: id, ecosystem, name, security } of rows) {
        const list = found.get(id) ?? [];
        list.push({ ecosystem: Value.Parse(Ecosystem, ecosystem), name, isSecurity: security === 1 });
        found.set(id, list);
      }
    }
  }
  return found;
}
