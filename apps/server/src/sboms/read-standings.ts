import { distinctSubjects, subjectKey } from '../advisories/subjects.ts';
import { takeTurn } from '../platform/turns.ts';
import type { HostsDeps } from '../unfixed/list-hosts.ts';
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
import { statementFor } from '../vex/statement-rules.ts';
import { type Component, packageComponent } from './component-rules.ts';
import { type HostRow, installedUpdatesOf } from './facts-store.ts';
import { type PackagesOfHost, packagesOfHost, type Subjects, tooLarge } from './read-target.ts';
import { createRecordFacts, type RecordFacts } from './record-facts.ts';
import { readStatements, type Said } from './said-of-host.ts';
import { leastSafe, type Standing } from './vex-rules.ts';

/** Most vulnerabilities of packages in one document. */
const STANDINGS_MAX = 50_000;
/** Judged between two turns: a kernel has thousands. */
const STANDINGS_AT_ONCE = 100;

export interface Standings {
  /** By package URL, then by vulnerability. */
  readonly of: ReadonlyMap<string, { component: Component; standings: Map<string, Standing> }>;
  /** Packages of hosts, and those of them that nobody has wholly judged. */
  readonly packages: number;
  readonly unjudged: number;
}

/** A package on a host, and the versions that an update replaced there. */
interface Own {
  readonly component: Component;
  readonly installed: Installed;
  readonly before: readonly Installed[];
}

/** What is known of every vulnerability of what is installed on these hosts. */
export async function readStandings(deps: HostsDeps, { hosts }: Subjects): Promise<Standings> {
  const { platform } = deps;
  const db = platform.database.read;
  const nowMs = platform.now();
  const saidOf = await readStatements(db, nowMs);
  const records = createRecordFacts(db, nowMs);
  const of = new Map<string, { component: Component; standings: Map<string, Standing> }>();
  let [packages, unjudged, count] = [0, 0, 0];
  // Hosts of a group have much in common.
  const asked = new Set<string>();
  const judgements = new Map<string, Judgement>();

  async function judge(own: readonly Own[]): Promise<void> {
    const subjects = own.flatMap(({ installed, before }) =>
      [installed, ...before].flatMap((one) => one.subjects),
    );
    const unread = distinctSubjects(subjects).filter((subject) => !asked.has(subjectKey(subject)));
    for (const [key, judgement] of await judgementsOf(deps, unread)) judgements.set(key, judgement);
    for (const subject of unread) asked.add(subjectKey(subject));
  }
  function keep(component: Component, id: string, standing: Standing): void {
    const known = of.get(component['bom-ref']) ?? { component, standings: new Map<string, Standing>() };
    of.set(component['bom-ref'], known);
    count -= known.standings.size;
    known.standings.set(id, leastSafe(known.standings.get(id), standing));
    count += known.standings.size;
  }

  for (const host of hosts) {
    const said = saidOf(host);
    for await (const part of packagesOfHost(db, host)) {
      const own = await ownOf(deps, host, part);
      await takeTurn();
      await judge(own);
      for (const { component, installed, before } of own) {
        const { vulnerable, isKnown } = vulnerableOf(installed, judgements);
        packages++;
        if (!isKnown) unjudged++;
        await records.read(vulnerable);
        for (const [i, each] of vulnerable.entries()) {
          if (i % STANDINGS_AT_ONCE === 0) await takeTurn();
          keep(component, each.id, standingOf(each, records.of(each), said));
        }
        const ids = new Set(vulnerable.map(({ id }) => id));
        const old = before.flatMap((one) => vulnerableOf(one, judgements).vulnerable);
        for (const [i, gone] of old.entries()) {
          if (i % STANDINGS_AT_ONCE === 0) await takeTurn();
          if (!ids.has(gone.id)) keep(component, gone.id, standingOfGone(gone, installed, judgements));
        }
        if (count > STANDINGS_MAX)
          throw tooLarge(`There are more than ${STANDINGS_MAX} vulnerabilities of packages.`);
      }
    }
  }
  return { of, packages, unjudged };
}

async function ownOf(
  { platform }: HostsDeps,
  host: HostRow,
  { ecosystem, packages }: PackagesOfHost,
): Promise<Own[]> {
  const found = await installedUpdatesOf(platform.database.read, {
    ...{ agentId: host.id, ecosystem },
    names: [...new Set(packages.map(({ name }) => name))],
  });
  const updates = Map.groupBy(found, (one) => placeOf({ ...one, version: one.available_version }));
  const system = { id: host.os_id, versionId: host.os_version_id };
  return packages.map((row) => {
    const replaced = [row.arch, ''].flatMap((arch) => updates.get(placeOf({ ...row, arch })) ?? []);
    return {
      component: packageComponent(host, ecosystem, row),
      installed: installedOf(ecosystem, system, row),
      before: replaced.map((one) => installedOf(ecosystem, system, movedTo(row, one.current_version))),
    };
  });
}

function placeOf({ name, arch, version }: { name: string; arch: string; version: string }): string {
  return [name, arch, version].join('\n');
}

function standingOf(
  { installed, subject, id }: Vulnerable,
  of: RecordFacts | undefined,
  { statements, words }: Said,
): Standing {
  const { ecosystem, package: one } = installed;
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
    ...({ inClosure: 'top', change: 'still_present', malicious: of?.isMalicious ?? true } as const),
    ...(of && { names: of.names }),
    ...(of && of.exploited !== null && { kev: of.exploited === 1 }),
  };
  const statement = statementFor(finding, statements, ecosystem);
  const said = statement && words.get(statement.id);
  if (said && statement.status === 'not_affected')
    return { state: 'not_affected', justification: said.justification, isAccepted: false, text: said.text };
  if (said) return { state: 'affected', justification: null, isAccepted: true, text: said.text };
  const fix = of?.fix ?? null;
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
