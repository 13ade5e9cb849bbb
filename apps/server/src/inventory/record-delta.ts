import { lockAgent } from '../agents/store.ts';
import { installedKey } from '../installed/identity.ts';
import { changePackages, countPackages, pagesNamed, type StoredPackage } from '../installed/store.ts';
import { charge } from '../outsiders/charge.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { ScannedUpdate } from '../updates/record-scan.ts';
import { chargeRead } from './charge-read.ts';
import { diffDelta, keysOfDelta } from './diff-packages.ts';
import type { ReadDelta } from './read-report.ts';
import { type ReportDeps, recordFindings } from './record-report.ts';
import { findBase, type Section } from './store.ts';

export const NO_BASE = 'The server does not have the complete report that base_sha256 names.';

export type DeltaOutcome =
  | { kind: 'recorded'; updates: ScannedUpdate[] }
  /** The report that comes of the delta is stored already. */
  | { kind: 'known'; receivedAtMs: number }
  /** It does not fit what is stored: only the whole report helps. Nothing was written. */
  | { kind: 'unfit'; reason: string }
  | { kind: 'budget_spent' }
  | { kind: 'gone' };

/**
 * Records a delta in one transaction: it leaves what the whole report would leave. The agent's lock keeps every other report
 * away, and a report that is being written in many transactions has no digest that a delta could name.
 */
export async function recordDelta(
  tx: Tx,
  deps: ReportDeps,
  { delta, sizeBytes, ...section }: Section & { delta: ReadDelta; sizeBytes: number },
): Promise<DeltaOutcome> {
  const { platform } = deps;
  const { agentId } = section;
  const { updates } = delta;
  if (!(await lockAgent(tx, agentId))) return { kind: 'gone' };
  const stored = await findBase(tx, section);
  const isComplete = stored?.complete === 1;
  if (isComplete && stored.digest === delta.report_sha256) {
    return { kind: 'known', receivedAtMs: stored.received_at };
  }
  if (!isComplete || stored.digest !== delta.base_sha256) {
    return { kind: 'unfit', reason: NO_BASE };
  }
  const rows = chargedRows(delta);
  if (!(await charge(tx, platform, { kind: 'reports', subject: { agentId }, rows, bytes: sizeBytes }))) {
    return { kind: 'budget_spent' };
  }
  const { known, read } = await readKnown(tx, section, delta);
  if (!(await chargeRead(tx, platform, { agentId, read }))) return { kind: 'budget_spent' };
  const diff = diffDelta(known, delta);
  if (!diff) return { kind: 'unfit', reason: 'A package in gone is not among the stored ones.' };
  const packageCount = (await countPackages(tx, section)) + diff.added;
  if (packageCount !== delta.package_count) {
    const reason = `The stored packages and this delta make ${packageCount} packages, not package_count.`;
    return { kind: 'unfit', reason };
  }
  await changePackages(tx, { ...section, nowMs: platform.now() }, diff);
  const { scanned_at, condition } = delta;
  async function* packages(names: readonly string[]) {
    let counted = 0;
    for await (const page of pagesNamed(tx, section, names)) {
      counted += page.length;
      yield page;
    }
    // This delta is stored; if that spends the budget, the next one is not.
    await chargeRead(tx, platform, { agentId, read: counted });
  }
  const answered = await recordFindings(tx, deps, {
    ...{ ...section, put: diff.put, packageCount, digest: delta.report_sha256 },
    report: { scanned_at, complete: true, packages, updates, ...(condition && { condition }) },
  });
  return { kind: 'recorded', updates: answered };
}

/** What is stored of the packages of a delta; `read`: how many have their names. */
async function readKnown(
  tx: Tx,
  section: Section,
  delta: ReadDelta,
): Promise<{ known: StoredPackage[]; read: number }> {
  const keys = keysOfDelta(delta);
  const known: StoredPackage[] = [];
  let read = 0;
  const names = [...delta.put, ...delta.gone].map(({ name }) => name);
  for await (const page of pagesNamed(tx, section, names)) {
    read += page.length;
    known.push(...page.filter((one) => keys.has(installedKey(one))));
  }
  return { known, read };
}

/** As a whole report is charged: for what is written, and for each candidate that may be looked up. */
function chargedRows({ put, gone, updates }: ReadDelta): number {
  return updates.reduce(
    (sum, { plan, candidates = [] }) => sum + 1 + (plan?.actions.length ?? 0) + candidates.length,
    put.length + gone.length,
  );
}
