import type { InventoryPackage } from '@tidegate/protocol/agent-api';
import { lockAgent } from '../agents/store.ts';
import { comparedPackages } from '../installed/compared-store.ts';
import { changePackages } from '../installed/store.ts';
import { weighedChunks } from '../platform/db/chunks.ts';
import type { Tx } from '../platform/db/engine.ts';
import { inTurns } from '../platform/turns.ts';
import { recordFirstSeen } from '../release-times/record-first-seen.ts';
import { beyondKept, closeBeyond, OPEN_MAX } from '../updates/kept-updates.ts';
import { recommendOffers } from '../updates/recommend-offers.ts';
import { recordCandidates } from '../updates/record-candidates.ts';
import {
  closedAmong,
  closeUpdates,
  offerUpdates,
  openUpdates,
  readFacts,
  readKnown,
  type ScannedUpdate,
} from '../updates/record-scan.ts';
import type { UpdateRow } from '../updates/store.ts';
import { chargeRead, rowsForReading } from './charge-read.ts';
import { createPackageDiff, type PackageDiff } from './diff-packages.ts';
import type { ReadReport, ReadUpdate } from './read-report.ts';
import { endClosed, plannedBy, type ReportDeps } from './record-report.ts';
import { beginWriting, copyDigests, holdWriting, putReport, type Section } from './store.ts';

/** Packages compared per turn of the event loop. */
const COMPARED_ITEMS = 1_000;
/** Packages, updates and actions of plans per transaction: meanwhile nobody else writes to SQLite. */
const WRITTEN_ITEMS = 250;

export type LargeOutcome =
  | { kind: 'recorded'; updates: ScannedUpdate[] }
  | { kind: 'gone' }
  /** A later report of the same ecosystem took over, and this one wrote nothing more. */
  | { kind: 'overtaken' };

/**
 * Stores a report like `recordReport`, in many short transactions. The first one marks the stored report as
 * incomplete and without a digest, so that an interrupted report is requested again and proves nothing; the
 * last one stores both. Additions come first, closures and removals last. A later report takes over.
 */
export async function recordLargeReport(
  deps: ReportDeps,
  { agentId, ecosystem, report, digest }: Section & { report: ReadReport; digest: string },
): Promise<LargeOutcome> {
  const { platform } = deps;
  const { database } = platform;
  const section = { agentId, ecosystem };
  const writing = platform.newId();
  // One time for all its changes, so that a package that is replaced is one change.
  const nowMs = platform.now();
  const scannedAtMs = Date.parse(report.scanned_at);
  const begun = await database.transact(async (tx) => {
    if (!(await lockAgent(tx, agentId))) return false;
    await beginWriting(tx, { ...section, writing, scannedAtMs, nowMs });
    await copyDigests(tx, agentId);
    return true;
  });
  if (!begun) return { kind: 'gone' };

  /** False if another report has taken over, or the host is gone: then nothing is written. */
  const write = (work: (tx: Tx) => Promise<void>): Promise<boolean> =>
    database.transact(async (tx) => {
      if (!(await lockAgent(tx, agentId)) || !(await holdWriting(tx, { ...section, writing }))) return false;
      await work(tx);
      return true;
    });

  const { put, gone, stored } = await compare(deps, { section, packages: report.packages });
  for (const part of partsOf(put, () => 1)) {
    const isOurs = await write(async (tx) => {
      await changePackages(tx, { ...section, nowMs }, { put: part, stored });
      await recordFirstSeen(tx, platform, { ...section, packages: part, actions: [] });
    });
    if (!isOurs) return { kind: 'overtaken' };
  }

  const { complete, updates, packages } = report;
  const facts = await readFacts({ ecosystem, complete, updates, packages: [packages] });
  const { known, read } = await readKnown(database.read, { ...section, updates });
  if (rowsForReading(read) > 0) {
    const isOurs = await write(async (tx) => void (await chargeRead(tx, platform, { agentId, read })));
    if (!isOurs) return { kind: 'overtaken' };
  }
  const scan = { ...section, scannedAtMs, complete, facts, known, openMax: deps.openMax ?? OPEN_MAX };
  for (const part of partsOf(report.updates, weightOf)) {
    let added = new Map<string, UpdateRow>();
    const isOurs = await write(async (tx) => {
      added = await offerUpdates(tx, platform, { scan, updates: part });
      await recordFirstSeen(tx, platform, { ...section, packages: [], actions: plannedBy(part) });
    });
    if (!isOurs) return { kind: 'overtaken' };
    for (const [key, row] of added) scan.known.set(key, row);
  }
  const closing = await closedAmong([...scan.known.values()], facts);
  for (const part of partsOf(closing, () => 1)) {
    const isOurs = await write(async (tx) => {
      await endClosed(tx, platform, await closeUpdates(tx, platform, { scan, rows: part }));
    });
    if (!isOurs) return { kind: 'overtaken' };
  }
  for (const part of partsOf(beyondKept(scan, { updates, closing }), () => 1)) {
    if (!(await write((tx) => closeBeyond(tx, platform, part)))) return { kind: 'overtaken' };
  }

  // An incomplete report removes nothing.
  for (const part of report.complete ? partsOf(gone, () => 1) : []) {
    const drop = (tx: Tx) => changePackages(tx, { ...section, nowMs }, { gone: part, stored });
    if (!(await write(drop))) return { kind: 'overtaken' };
  }
  const isDone = await write(async (tx) => {
    await recordCandidates(tx, { ...section, report });
    await recommendOffers(tx, { ...section, maxChange: deps.maxChange ?? 'any' });
    await putReport(tx, {
      agent_id: agentId,
      ecosystem,
      digest,
      scanned_at: scannedAtMs,
      received_at: platform.now(),
      complete: report.complete ? 1 : 0,
      package_count: report.packages.length,
      condition: report.condition ? JSON.stringify(report.condition) : null,
    });
    await copyDigests(tx, agentId);
  });
  if (!isDone) return { kind: 'overtaken' };
  return { kind: 'recorded', updates: await openUpdates(database.read, section) };
}

/** Compares with the stored packages, which nobody else writes until another report takes over. */
async function compare(
  { platform: { database } }: ReportDeps,
  { section, packages }: { section: Section; packages: readonly InventoryPackage[] },
): Promise<PackageDiff> {
  const diff = createPackageDiff();
  for await (const page of comparedPackages(database.read, section)) {
    await inTurns(page, { size: COMPARED_ITEMS, work: diff.addStored });
  }
  await inTurns(packages, { size: COMPARED_ITEMS, work: diff.addReported });
  await inTurns(diff.notReported(), { size: COMPARED_ITEMS, work: diff.addGone });
  return diff.result();
}

/** Batches of about as many items as one transaction writes. */
function partsOf<T>(items: readonly T[], weigh: (item: T) => number): Generator<T[]> {
  return weighedChunks(items, { weigh, most: WRITTEN_ITEMS });
}

function weightOf({ plan }: ReadUpdate): number {
  return 1 + (plan?.actions.length ?? 0);
}
