import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { Db } from '../platform/db/engine.ts';
import { inTurns } from '../platform/turns.ts';
import { type Basis, basisOf } from './basis-rules.ts';
import { type ClosureFacts, closureFacts, createPackageJudge, type JudgedPackage } from './closure-facts.ts';
import { type ClosurePackage, closurePackages, closureSubjects, type Top } from './closure-packages.ts';
import type { HostSystem } from './ecosystem-strings.ts';
import type { KevList } from './exploited/kev-list.ts';
import { readExploited, readKevList } from './exploited/store.ts';
import { advisoryDetails } from './finding-details.ts';
import type { InstalledPackage } from './installed-package.ts';
import {
  type Check,
  readAdvisories,
  readChecks,
  readInstalled,
  readRecordMarks,
  recordMark,
} from './store.ts';

/** Packages judged per turn of the event loop. */
const PACKAGES_A_TURN = 500;

/** A transaction to be judged, and its host. */
export interface ClosureRequest {
  readonly agentId: string;
  readonly ecosystem: Ecosystem;
  readonly system: HostSystem;
  readonly actions: readonly PlanAction[];
  /** The updates that the transaction is for. */
  readonly tops: readonly Top[];
}

export interface Closure {
  readonly ecosystem: Ecosystem;
  readonly packages: readonly ClosurePackage[];
  /** Installed versions of the packages in the plan. */
  readonly installed: readonly InstalledPackage[];
}

/**
 * Reads the closures of one host and ecosystem, in the given order: each package with its subjects, after the update and
 * now. One read for all.
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

/** The time and the data of a judgement. */
export interface JudgedAt {
  readonly nowMs: number;
  readonly maxAgeMs: number;
  /** From `readSnapshotMarks`, read before the sources were queried. */
  readonly snapshots: ReadonlyMap<string, string>;
}

/** Judges closures from stored data, in the given order; the checks and records of all are read together. */
export async function readClosureFacts(
  db: Db,
  closures: readonly Closure[],
  at: JudgedAt,
): Promise<ClosureFacts[]> {
  const checks = await checksOf(db, closures);
  const rows = await readAdvisories(db, idsOf(checks));
  const records = new Map([...rows].map(([id, { record }]) => [id, record]));
  const cves = [...records].flatMap(([id, record]) => advisoryDetails(id, record).cves);
  const exploited = await readExploited(db, { cves, nowMs: at.nowMs });
  const kev = idsOf(checks).length > 0 ? await readKevList(db, at.nowMs) : null;
  const isKevKnown = cves.length > 0 && kev?.saysNo === true;
  const marks = new Map([...rows].map(([id, row]) => [id, recordMark(row)]));
  const evidence = { records: marks, kevFetchedAtMs: usedKevOf(kev) };
  const facts: ClosureFacts[] = [];
  for (const { ecosystem, packages } of closures) {
    const judge = createPackageJudge({ ecosystem, checks, records, exploited, isKevKnown, ...at });
    const judged: JudgedPackage[] = [];
    await inTurns(packages, {
      size: PACKAGES_A_TURN,
      work: (part) => void judged.push(...part.map(judge)),
    });
    facts.push({ ...closureFacts(judged, at), basis: basisOf({ packages, checks, evidence, ...at }) });
  }
  return facts;
}

/** What the verdicts of closures rest on now, in the given order. */
export async function readBases(db: Db, closures: readonly Closure[], at: JudgedAt): Promise<Basis[]> {
  const checks = await checksOf(db, closures);
  const ids = idsOf(checks);
  const evidence = {
    records: await readRecordMarks(db, ids),
    kevFetchedAtMs: usedKevOf(ids.length > 0 ? await readKevList(db, at.nowMs) : null),
  };
  return closures.map(({ packages }) => basisOf({ packages, checks, evidence, ...at }));
}

/** A list that became too old or was switched off in between says less than before: the basis changes. */
function usedKevOf(kev: KevList | null): number | null {
  return kev?.saysNo ? kev.fetchedAtMs : null;
}

function idsOf(checks: ReadonlyMap<string, Check>): string[] {
  return [...checks.values()].flatMap(({ ids }) => ids);
}

function checksOf(db: Db, closures: readonly Closure[]) {
  const sides = closures.map(({ packages }) => closureSubjects(packages));
  return readChecks(
    db,
    sides.flatMap(({ after, before }) => [...after, ...before]),
  );
}
