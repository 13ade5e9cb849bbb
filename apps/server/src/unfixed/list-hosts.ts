import { Ecosystem } from '@tidegate/protocol/scalars';
import type { UnfixedHost } from '@tidegate/protocol/unfixed-api';
import { AFFECTED_SAID_MAX } from '@tidegate/protocol/vulnerabilities-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  distinctSubjects,
  type PackageVersionOf,
  type Subject,
  subjectKey,
  subjectsOf,
} from '../advisories/subjects.ts';
import type { Config } from '../config.ts';
import { hostsWith } from '../installed/hosts-store.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { installedOn, pendingOf } from './facts-store.ts';
import { judgementsOf } from './read-judgements.ts';
import { installedOf, isFixedBy, movedTo, placeOf, type Vulnerable } from './unfixed-rules.ts';
import { recordsOf } from './unfixed-view.ts';
import type { UnfixedRow } from './write-store.ts';

/** Hosts that one page looks at; with many that are not affected a page is shorter, and has a cursor. */
export const LOOKED_AT_MAX = 500;

/** Questions whether an offered version fixes what one host has: beyond it none does. */
const LOOKS_MAX = 10_000;

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
  const pending = Map.groupBy((await Array.fromAsync(pendingOf(db, ids))).flat(), (one) =>
    placeOf(one.agent_id, placeOf(one.ecosystem, one.name)),
  );
  const installed = hosts.map((host) => ({
    host,
    packages: distinct(packages.get(host.id) ?? []).map((one) =>
      installedOf(ecosystem, { id: host.os_id, versionId: host.os_version_id }, one),
    ),
  }));
  const isOfRow = (subject: Subject) =>
    subject.name === row.package && subject.ecosystem === row.distribution;
  const own = installed.flatMap((one) => one.packages.flatMap(({ subjects }) => subjects.filter(isOfRow)));
  const now = await judgementsOf({ platform, config }, own);
  const records = new Set(recordsOf(row));
  const idsOf = new Map([...now].map(([key, { ids: all }]) => [key, all.filter((id) => records.has(id))]));
  const affected = installed.map(({ host, packages: some }) => {
    const found = some.flatMap((one) =>
      one.subjects
        .filter(isOfRow)
        .flatMap((subject) =>
          (idsOf.get(subjectKey(subject)) ?? []).map((id): Vulnerable => ({ installed: one, subject, id })),
        ),
    );
    const versionsOf = (name: string) => [
      ...new Set(
        pending
          .get(placeOf(host.id, placeOf(ecosystem, name)))
          ?.map(({ available_version: version }) => version),
      ),
    ];
    return { host, found, fixes: fixesOf(found, versionsOf) };
  });
  const targets = affected.flatMap(({ fixes }) =>
    (fixes ?? []).flatMap(({ one: { installed: of }, versions }) =>
      versions.flatMap((version) => subjectsOf(ecosystem, of.system, movedTo(of.package, version)).subjects),
    ),
  );
  const judgements = await judgementsOf({ platform, config }, distinctSubjects(targets));
  const items: UnfixedHost[] = [];
  for (const [i, { host, found, fixes }] of affected.entries()) {
    const isFixed = fixes?.every(({ one, versions }) =>
      versions.some((version) => isFixedBy(one, version, judgements)),
    );
    if (isFixed) continue;
    items.push({
      ...{ agent_id: host.id, hostname: host.hostname, group: host.group_name },
      packages: [...new Set(found.map(({ installed: { package: one } }) => one))]
        .slice(0, AFFECTED_SAID_MAX)
        .map(({ name, version }) => ({ name, version })),
    });
    if (items.length === limit && i + 1 < affected.length) return { items, last: host.id };
  }
  return { items, last: ids.length === LOOKED_AT_MAX ? (ids.at(-1) ?? null) : null };
}

/** Each package once, however many architectures it is there in. */
function distinct<P extends PackageVersionOf>(packages: readonly P[]): P[] {
  const keyOf = ({ name, version, sourceName, sourceVersion, origin }: P) =>
    [name, version, sourceName, sourceVersion, origin].join('\n');
  return [...new Map(packages.map((one) => [keyOf(one), one])).values()];
}

/** What is found on a host, each with the versions that may fix it; null: what a host makes up is not looked at one by one. */
function fixesOf(found: readonly Vulnerable[], versionsOf: (name: string) => readonly string[]) {
  const byName = new Map(
    [...new Set(found.map(({ installed }) => installed.package.name))].map((name) => [
      name,
      versionsOf(name),
    ]),
  );
  const fixes = found.map((one) => ({ one, versions: byName.get(one.installed.package.name) ?? [] }));
  const looks = fixes.reduce((sum, { versions }) => sum + versions.length, 0);
  return looks > LOOKS_MAX ? null : fixes;
}
