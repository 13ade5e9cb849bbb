import { Ecosystem } from '@tidegate/protocol/scalars';
import { VEX_STATEMENTS_MAX, VexJustification } from '@tidegate/protocol/vex-api';
import { Value } from 'typebox/value';
import { fixedIn } from '../advisories/finding-details.ts';
import { distinctSubjects, subjectKey } from '../advisories/subjects.ts';
import { takeTurn } from '../platform/turns.ts';
import type { HostsDeps } from '../unfixed/list-hosts.ts';
import { detailsOf, type Of } from '../unfixed/read-details.ts';
import { judgementsOf } from '../unfixed/read-judgements.ts';
import {
  type Installed,
  installedOf,
  isFixedBy,
  type Judgement,
  type Judgements,
  movedTo,
  type Vulnerable,
  vulnerableOf,
} from '../unfixed/unfixed-rules.ts';
import { byVulnerability, isInForce, type StatementIndex, statementFor } from '../vex/statement-rules.ts';
import { factOf, type StatementRow, statementsInForce } from '../vex/store.ts';
import { type Component, packageComponent } from './component-rules.ts';
import { type HostRow, installedUpdatesOf, type PackageRow } from './facts-store.ts';
import { packagesByHosts, type Subjects, tooLarge } from './read-target.ts';
import { leastSafe, type Standing } from './vex-rules.ts';

/** Most vulnerabilities of packages in one document. */
const STANDINGS_MAX = 50_000;

export interface Standings {
  /** By package URL, then by vulnerability. */
  readonly of: ReadonlyMap<string, { component: Component; standings: Map<string, Standing> }>;
  /** Packages of hosts, and those of them that nobody has wholly judged. */
  readonly packages: number;
  readonly unjudged: number;
}

/** A package on a host, and the versions that an update replaced there. */
interface Own {
  readonly host: HostRow;
  readonly component: Component;
  readonly installed: Installed;
  readonly before: readonly Installed[];
}

/** What is known of every vulnerability of what is installed on these hosts. */
export async function readStandings(deps: HostsDeps, { hosts }: Subjects): Promise<Standings> {
  const { platform } = deps;
  const db = platform.database.read;
  const nowMs = platform.now();
  const rows = await statementsInForce(db, { nowMs, limit: VEX_STATEMENTS_MAX });
  const of = new Map<string, { component: Component; standings: Map<string, Standing> }>();
  let [packages, unjudged, count] = [0, 0, 0];
  // Hosts of a group have much in common.
  const asked = new Set<string>();
  const judgements = new Map<string, Judgement>();
  for await (const part of packagesByHosts(db, hosts)) {
    const own = await ownOf(deps, part);
    const subjects = own.flatMap(({ installed, before }) =>
      [installed, ...before].flatMap((one) => one.subjects),
    );
    await takeTurn();
    const unread = distinctSubjects(subjects).filter((subject) => !asked.has(subjectKey(subject)));
    for (const [key, judgement] of await judgementsOf(deps, unread)) judgements.set(key, judgement);
    for (const subject of unread) asked.add(subjectKey(subject));
    await takeTurn();
    const found = own.map((one) => ({ one, ...vulnerableOf(one.installed, judgements) }));
    const old = own.map(({ before }) => before.flatMap((one) => vulnerableOf(one, judgements).vulnerable));
    const details = await detailsOf(
      db,
      [...found.flatMap(({ vulnerable }) => vulnerable), ...old.flat()].map(({ id }) => id),
    );
    const indexes = new Map(part.hosts.map((host) => [host.id, indexFor(host, rows, nowMs)]));
    for (const [i, { one, vulnerable, isKnown }] of found.entries()) {
      packages++;
      if (!isKnown) unjudged++;
      const ids = new Set(vulnerable.map(({ id }) => id));
      const index = indexes.get(one.host.id) ?? new Map();
      const standings = new Map([
        ...(old[i] ?? [])
          .filter(({ id }) => !ids.has(id))
          .map((gone) => [gone.id, standingOfGone(gone, one.installed, judgements)] as const),
        ...vulnerable.map((each) => [each.id, standingOf(each, details.get(each.id), index)] as const),
      ]);
      if (standings.size === 0) continue;
      const known = of.get(one.component['bom-ref']) ?? { component: one.component, standings: new Map() };
      of.set(one.component['bom-ref'], known);
      count -= known.standings.size;
      for (const [id, standing] of standings)
        known.standings.set(id, leastSafe(known.standings.get(id), standing));
      count += known.standings.size;
    }
    if (count > STANDINGS_MAX)
      throw tooLarge(`There are more than ${STANDINGS_MAX} vulnerabilities of packages.`);
  }
  return { of, packages, unjudged };
}

async function ownOf(
  { platform }: HostsDeps,
  part: { hosts: readonly HostRow[]; packages: ReadonlyMap<string, readonly PackageRow[]> },
): Promise<Own[]> {
  const ids = part.hosts.map(({ id }) => id);
  const updates = Map.groupBy(await installedUpdatesOf(platform.database.read, ids), (one) =>
    placeOf({ ...one, version: one.available_version }),
  );
  return part.hosts.flatMap((host) =>
    (part.packages.get(host.id) ?? []).map((row) => {
      const ecosystem = Value.Parse(Ecosystem, row.ecosystem);
      const system = { id: host.os_id, versionId: host.os_version_id };
      const replaced = [row.arch, ''].flatMap((arch) => updates.get(placeOf({ ...row, arch })) ?? []);
      return {
        host,
        component: packageComponent(host, ecosystem, row),
        installed: installedOf(ecosystem, system, row),
        before: replaced.map((one) => installedOf(ecosystem, system, movedTo(row, one.current_version))),
      };
    }),
  );
}

interface Place {
  readonly agent_id: string;
  readonly ecosystem: string;
  readonly name: string;
  readonly arch: string;
  readonly version: string;
}

function placeOf({ agent_id: agentId, ecosystem, name, arch, version }: Place): string {
  return [agentId, ecosystem, name, arch, version].join('\n');
}

interface Said {
  readonly text: string;
  readonly justification: VexJustification | null;
}
interface Index {
  readonly statements: StatementIndex;
  readonly said: ReadonlyMap<string, Said>;
}

/** The statements that are about this host now. */
function indexFor(host: HostRow, rows: readonly StatementRow[], nowMs: number): ReadonlyMap<string, Index> {
  const of = new Map<string, Index>();
  for (const ecosystem of Ecosystem.anyOf.map((one) => one.const)) {
    const target = {
      ...{ ecosystem, agentId: host.id, group: host.group_name, distribution: host.os_id, nowMs },
    };
    const own = rows.filter((row) => row.ecosystem === ecosystem && isInForce(factOf(row), target));
    const said = new Map(
      own.map(({ id, text, justification }) => [
        id,
        { text, justification: justification === null ? null : Value.Parse(VexJustification, justification) },
      ]),
    );
    of.set(ecosystem, { statements: byVulnerability(own.map(factOf)), said });
  }
  return of;
}

function standingOf(
  { installed, subject, id }: Vulnerable,
  of: Of | undefined,
  index: ReadonlyMap<string, Index>,
): Standing {
  const { ecosystem, package: one } = installed;
  const own = index.get(ecosystem);
  const finding = {
    ...{
      package: one.name,
      version: one.version,
      id,
      aliases: [],
      severity: null,
      summary: '',
      fixedIn: null,
    },
    ...({ inClosure: 'top', change: 'still_present', malicious: of?.details.malicious ?? true } as const),
    ...(of && { names: of.details.names }),
    ...(of && of.exploited !== null && { kev: of.exploited === 1 }),
  };
  const statement = own ? statementFor(finding, own.statements, ecosystem) : null;
  const said = statement && own?.said.get(statement.id);
  if (said && statement.status === 'not_affected')
    return { state: 'not_affected', justification: said.justification, isAccepted: false, text: said.text };
  if (said) return { state: 'affected', justification: null, isAccepted: true, text: said.text };
  const fix = fixedIn(of?.details.record ?? null, ecosystem, subject);
  const text = fix === null ? 'No fixed version is known.' : `Fixed in ${subject.name} ${fix}.`;
  return { state: 'affected', justification: null, isAccepted: false, text };
}

/** A vulnerability of the version before: fixed only where this version is wholly judged. */
function standingOfGone(gone: Vulnerable, installed: Installed, judgements: Judgements): Standing {
  const { version } = installed.package;
  const isFixed = isFixedBy(gone, version, judgements);
  return {
    ...{ state: isFixed ? 'fixed' : 'under_investigation', justification: null, isAccepted: false },
    text: isFixed
      ? `Fixed by the update from ${gone.installed.package.version} to ${version}.`
      : `${gone.installed.package.version} had it. Whether ${version} has it is not known.`,
  };
}
