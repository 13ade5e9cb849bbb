import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { Db } from '../platform/db/engine.ts';
import { inTurns } from '../platform/turns.ts';
import { type Basis, basisOf } from './basis-rules.ts';
import { type ClosureFacts, closureFacts, createPackageJudge, type JudgedPackage } from './closure-facts.ts';
import { type ClosurePackage, closurePackages, closureSubjects } from './closure-packages.ts';
import type { HostSystem } from './ecosystem-strings.ts';
import { readExploited } from './exploited/store.ts';
import { advisoryDetails } from './finding-details.ts';
import type { InstalledPackage } from './installed-package.ts';
import { readAdvisories, readChecks, readInstalled } from './store.ts';

/** Packages that are judged in one turn of the event loop. */
const PACKAGES_A_TURN = 500;

/** A transaction that is to be judged, on the host that it is for. */
export interface ClosureRequest {
  readonly agentId: string;
  readonly ecosystem: Ecosystem;
  readonly system: HostSystem;
  readonly actions: readonly PlanAction[];
  readonly top: { readonly name: string; readonly arch: string };
}

export interface Closure {
  readonly ecosystem: Ecosystem;
  readonly packages: readonly ClosurePackage[];
  /** What the host has of the packages in the plan. */
  readonly installed: readonly InstalledPackage[];
}

/**
 * The packages of closures of one host and ecosystem, in the order given, with whom to ask about each, as they will be
 * and as they are; in one read.
 */
export async function readClosures(db: Db, requests: readonly ClosureRequest[]): Promise<Closure[]> {
  const [first] = requests;
  if (!first) return [];
  const { agentId, ecosystem } = first;
  const names = requests.flatMap(({ actions }) => actions.map(({ name }) => name));
  const present = Map.groupBy(await readInstalled(db, { agentId, ecosystem, names }), ({ name }) => name);
  const closures: Closure[] = [];
  await inTurns(requests, {
    size: 1,
    work: ([request]) => {
      if (!request) return;
      const wanted = new Set(request.actions.map(({ name }) => name));
      const installed = [...wanted].flatMap((name) => present.get(name) ?? []);
      closures.push({ ecosystem, packages: closurePackages({ ...request, installed }), installed });
    },
  });
  return closures;
}

/** When and from which data closures are judged. */
export interface JudgedAt {
  readonly nowMs: number;
  readonly maxAgeMs: number;
  /** Of `readSnapshotMarks`, read before anybody was asked. */
  readonly snapshots: ReadonlyMap<string, string>;
}

/** Judges closures from what is stored, in the order given; the checks and records of all are read together. */
export async function readClosureFacts(
  db: Db,
  closures: readonly Closure[],
  at: JudgedAt,
): Promise<ClosureFacts[]> {
  const checks = await checksOf(db, closures);
  const rows = await readAdvisories(
    db,
    [...checks.values()].flatMap(({ ids }) => ids),
  );
  const records = new Map([...rows].map(([id, { record }]) => [id, record]));
  const cves = [...records].flatMap(([id, record]) => advisoryDetails(id, record).cves);
  const exploited = await readExploited(db, cves);
  const facts: ClosureFacts[] = [];
  for (const { ecosystem, packages } of closures) {
    const judge = createPackageJudge({ ecosystem, checks, records, exploited, ...at });
    const judged: JudgedPackage[] = [];
    await inTurns(packages, {
      size: PACKAGES_A_TURN,
      work: (part) => void judged.push(...part.map(judge)),
    });
    facts.push({ ...closureFacts(judged, at), basis: basisOf({ packages, checks, ...at }) });
  }
  return facts;
}

/** What the verdicts of closures rest on now, in the order given. */
export async function readBases(db: Db, closures: readonly Closure[], at: JudgedAt): Promise<Basis[]> {
  const checks = await checksOf(db, closures);
  return closures.map(({ packages }) => basisOf({ packages, checks, ...at }));
}

function checksOf(db: Db, closures: readonly Closure[]) {
  const sides = closures.map(({ packages }) => closureSubjects(packages));
  return readChecks(
    db,
    sides.flatMap(({ after, before }) => [...after, ...before]),
  );
}
