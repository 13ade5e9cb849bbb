import { many, text } from '@tidegate/command-line/declare';
import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { findAgentsNamed } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { CommandFault } from './open-installation.ts';

/** The options of a command that names hosts. */
export const SCOPE_OPTIONS = {
  group: many(text('GROUP', 'the hosts of a group')),
  host: many(text('HOST', 'a host, by id or whole host name')),
  tag: many(text('TAG', 'the hosts with a tag, such as env=prod')),
};

export interface ScopeWords {
  readonly group?: string[] | undefined;
  readonly host?: string[] | undefined;
  readonly tag?: string[] | undefined;
}

/** The hosts that --group, --tag and --host name, the last by id or by name; without them all. Throws a CommandFault for a host that is unknown, or a name that several have. */
export async function scopeOf(
  db: Db,
  { group: groups = [], host: hosts = [], tag: tags = [] }: ScopeWords,
): Promise<PolicyScope> {
  if (groups.length + hosts.length + tags.length === 0) return { kind: 'all' };
  const ids: string[] = [];
  for (const host of hosts) {
    const [found, ...others] = await findAgentsNamed(db, host);
    const called = JSON.stringify(host);
    if (!found) throw new CommandFault(`there is no host ${called}; --host takes an id or a whole host name`);
    if (others.length > 0) throw new CommandFault(`several hosts are named ${called}; give the id`);
    ids.push(found);
  }
  return {
    ...{ kind: 'some', groups: [...new Set(groups)], hosts: [...new Set(ids)] },
    ...(tags.length > 0 ? { tags: [...new Set(tags)] } : {}),
  };
}
