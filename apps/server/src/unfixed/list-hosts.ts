import { Ecosystem } from '@tidegate/protocol/scalars';
import type { UnfixedHost } from '@tidegate/protocol/unfixed-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { subjectsOf } from '../advisories/subjects.ts';
import type { Config } from '../config.ts';
import { hostsWith } from '../installed/hosts-store.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { installedOn, pendingOf } from './facts-store.ts';
import { judgementsOf } from './read-judgements.ts';
import { installedOf, isFixedBy, movedTo, placeOf, type Vulnerable, vulnerableOf } from './unfixed-rules.ts';
import { recordsOf } from './unfixed-view.ts';
import type { UnfixedRow } from './write-store.ts';

/** Hosts that one page looks at; with many that are not affected a page is shorter, and has a cursor. */
export const LOOKED_AT_MAX = 500;

const Names = Type.Array(Type.String());

export interface HostsDeps {
  readonly platform: Pick<Platform, 'database' | 'now'>;
  readonly config: Pick<Config, 'advisoryMaxAgeHours'>;
}

/** The hosts of a scope that have a vulnerability without a pending fix now; `last` is where the next page goes on. */
export async function listUnfixedHosts(
  { platform, config }: HostsDeps,
  { row, scope, after, limit }: { row: UnfixedRow; scope: GroupScope; after: string; limit: number },
): Promise<{ items: UnfixedHost[]; last: string | null }> {
  const db = platform.database.read;
  const ecosystem = Value.Parse(Ecosystem, row.ecosystem);
  const names = Value.Parse(Names, JSON.parse(row.packages));
  if (names.length === 0) return { items: [], last: null };
  const hosts = await hostsWith(db, { scope, ecosystem, names, after, limit: LOOKED_AT_MAX });
  const ids = hosts.map(({ id }) => id);
  if (ids.length === 0) return { items: [], last: null };
  const packages = Map.groupBy(await installedOn(db, ids, { ecosystem, names }), (one) => one.agent_id);
  const pending = Map.groupBy(await pendingOf(db, ids), (one) =>
    placeOf(one.agent_id, placeOf(one.ecosystem, one.name)),
  );
  const installed = hosts.map((host) => ({
    host,
    packages: (packages.get(host.id) ?? []).map((one) =>
      installedOf(ecosystem, { id: host.os_id, versionId: host.os_version_id }, one),
    ),
  }));
  const offers = (agentId: string, name: string) =>
    pending.get(placeOf(agentId, placeOf(ecosystem, name))) ?? [];
  const subjects = installed.flatMap(({ host, packages: own }) =>
    own.flatMap((one) => [
      ...one.subjects,
      ...offers(host.id, one.package.name).flatMap(
        ({ available_version: version }) =>
          subjectsOf(ecosystem, one.system, movedTo(one.package, version)).subjects,
      ),
    ]),
  );
  const judgements = await judgementsOf({ platform, config }, subjects);
  const records = new Set(recordsOf(row));
  const isIt = ({ subject, id }: Vulnerable) =>
    records.has(id) && subject.name === row.package && subject.ecosystem === row.distribution;
  const items: UnfixedHost[] = [];
  for (const [i, { host, packages: own }] of installed.entries()) {
    const found = own.flatMap((one) => vulnerableOf(one, judgements).vulnerable).filter(isIt);
    const isFixed = found.every((one) =>
      offers(host.id, one.installed.package.name).some(({ available_version: version }) =>
        isFixedBy(one, version, judgements),
      ),
    );
    if (isFixed) continue;
    items.push({
      ...{ agent_id: host.id, hostname: host.hostname, group: host.group_name },
      packages: [...new Set(found.map(({ installed }) => installed.package))].map(({ name, version }) => ({
        name,
        version,
      })),
    });
    if (items.length === limit && i + 1 < installed.length) return { items, last: host.id };
  }
  return { items, last: ids.length === LOOKED_AT_MAX ? (ids.at(-1) ?? null) : null };
}
