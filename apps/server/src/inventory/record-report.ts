import type { MaxChange } from '@tidegate/protocol/offers';
import type { PlanAction } from '@tidegate/protocol/plan';
import { lockAgent } from '../agents/store.ts';
import { planOthersAgain, withdrawFinished } from '../commands/withdraw-approvals.ts';
import { comparedPackages } from '../installed/compared-store.ts';
import { changePackages, type PackageRecord, pagesNamed } from '../installed/store.ts';
import { hasSpentReports, reportsSpent } from '../outsiders/charge.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { recordFirstSeen } from '../release-times/record-first-seen.ts';
import { recommendOffers } from '../updates/recommend-offers.ts';
import { recordCandidates } from '../updates/record-candidates.ts';
import {
  type ClosedUpdate,
  closedAmong,
  closeUpdates,
  openSince,
  openUpdates,
  readFacts,
  recordScan,
  type ScannedUpdate,
  type ScanReport,
} from '../updates/record-scan.ts';
import { hasPlaces } from '../updates/scan-rules.ts';
import type { KnownUpdate } from '../updates/store.ts';
import { chargeRead, rowsForReading } from './charge-read.ts';
import { createPackageDiff } from './diff-packages.ts';
import type { ReadReport, ReadUpdate } from './read-report.ts';
import { copyDigests, putReport, type Section } from './store.ts';

export interface ReportDeps {
  platform: Platform;
  /** The greatest change of a version that is recommended; `any` if absent. */
  maxChange?: MaxChange;
  /** OPEN_MAX unless a test says otherwise. */
  openMax?: number;
}

/**
 * Stores a report of moderate size in one transaction: changed packages, its digest, and its updates. An
 * incomplete report adds and changes packages but removes none. Null if the agent is gone.
 */
export async function recordReport(
  tx: Tx,
  deps: ReportDeps,
  section: Section & { report: ReadReport; digest: string },
): Promise<ScannedUpdate[] | null> {
  const { report } = section;
  if (!(await lockAgent(tx, section.agentId))) return null;
  const diff = createPackageDiff();
  for await (const page of comparedPackages(tx, section)) diff.addStored(page);
  diff.addReported(report.packages);
  diff.addGone(diff.notReported());
  const { put, gone, stored } = diff.result();
  const place = { agentId: section.agentId, ecosystem: section.ecosystem, nowMs: deps.platform.now() };
  await changePackages(tx, place, { put, stored, ...(report.complete && { gone }) });
  return recordFindings(tx, deps, { ...section, put, packageCount: report.packages.length });
}

/** What a report says besides its packages, once those are stored: the row of the report, and its updates. */
export async function recordFindings(
  tx: Tx,
  { platform, maxChange = 'any', openMax }: ReportDeps,
  {
    agentId,
    ecosystem,
    report,
    digest,
    put,
    packageCount,
  }: Section & {
    report: ScanReport & Pick<ReadReport, 'condition'>;
    digest: string;
    /** The packages that were new or changed. */
    put: readonly PackageRecord[];
    packageCount: number;
  },
): Promise<ScannedUpdate[]> {
  await recordFirstSeen(tx, platform, {
    agentId,
    ecosystem,
    packages: put,
    actions: plannedBy(report.updates),
  });
  await putReport(tx, {
    agent_id: agentId,
    ecosystem,
    digest,
    scanned_at: Date.parse(report.scanned_at),
    received_at: platform.now(),
    complete: report.complete ? 1 : 0,
    package_count: packageCount,
    condition: report.condition ? JSON.stringify(report.condition) : null,
  });
  await copyDigests(tx, agentId);
  const section = { agentId, ecosystem };
  const { updates, closed, read } = await recordScan(tx, platform, { ...section, report, openMax });
  // This report is stored; if that spends the budget, the next one is not.
  await chargeRead(tx, platform, { agentId, read });
  await endClosed(tx, platform, closed);
  if (!hasPlaces(ecosystem)) return updates;
  await recordCandidates(tx, { ...section, report });
  await recommendOffers(tx, { ...section, maxChange });
  return openUpdates(tx, section);
}

/**
 * Answers the same report again. A complete one closes the updates that failed, or were reopened, since it was taken, and that
 * it shows installed. There is a transaction only if there is one to close, or much was read. Throws 429 if the budget of the
 * host is spent.
 */
export async function recordUnchanged(
  { platform }: Pick<ReportDeps, 'platform'>,
  { receivedAtMs, complete, ...section }: Section & { receivedAtMs: number; complete: boolean },
): Promise<ScannedUpdate[]> {
  const { database } = platform;
  const { agentId } = section;
  if (await hasSpentReports(database.read, platform, agentId)) throw reportsSpent(platform);
  // An incomplete report closes nothing.
  const sinceMs = complete ? receivedAtMs : Infinity;
  const { updates, changed, ...open } = await openSince(database.read, { ...section, sinceMs });
  const found = await closedByStored(database.read, { ...section, changed });
  const isNoneClosed = found.rows.length === 0;
  const read = open.read + found.read;
  if (isNoneClosed && rowsForReading(read) === 0) return updates;
  await database.transact(async (tx) => {
    if (!(await lockAgent(tx, agentId))) return;
    // These may be closed still; if this spends the budget, the next report is refused.
    await chargeRead(tx, platform, { agentId, read });
    if (isNoneClosed) return;
    const now = await openSince(tx, { ...section, sinceMs });
    const { rows, facts } = await closedByStored(tx, { ...section, changed: now.changed });
    await endClosed(tx, platform, await closeUpdates(tx, platform, { scan: { facts }, rows }));
  });
  return isNoneClosed ? updates : openUpdates(database.read, section);
}

/** Which of these updates what is stored of the host closes, and how many packages were read to find that. */
async function closedByStored(
  db: Db,
  { changed, ...section }: Section & { changed: readonly KnownUpdate[] },
) {
  const names = changed.map(({ name }) => name);
  let read = 0;
  async function* packages() {
    for await (const page of pagesNamed(db, section, names)) {
      read += page.length;
      yield page;
    }
  }
  const { ecosystem } = section;
  const facts = await readFacts({ ecosystem, complete: true, packages: packages(), updates: [] });
  return { facts, rows: await closedAmong(changed, facts), read };
}

/**
 * Ends the approvals of updates that the scan closed. What is installed already does not hinder the others of its token:
 * the host finds it done. What is superseded does, and the others are planned without it.
 */
export async function endClosed(tx: Tx, platform: Platform, closed: readonly ClosedUpdate[]): Promise<void> {
  const change = { reason: 'closed_by_scan', actor: 'scan' };
  const idsOf = (kind: ClosedUpdate['kind']) => closed.filter((one) => one.kind === kind).map(({ id }) => id);
  await planOthersAgain(tx, platform, { updateIds: idsOf('superseded'), ...change });
  await withdrawFinished(tx, platform, { updateIds: idsOf('installed'), ...change });
}

export function plannedBy(updates: readonly ReadUpdate[]): PlanAction[] {
  return updates.flatMap(({ plan }) => plan?.actions ?? []);
}
