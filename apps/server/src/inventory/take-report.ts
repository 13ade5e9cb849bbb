import type { InventoryAnswer } from '@tidegate/protocol/agent-api';
import { chargeReport } from '../outsiders/charge.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { ONE_REQUEST, tooLarge } from './large-refusal.ts';
import { type LargeReports, SMALL_REPORT_MAX_BYTES, SMALL_REPORT_MAX_ITEMS } from './large-reports.ts';
import { type Reading, type ReadReport, readReport, reportDigest } from './read-report.ts';
import { recordLargeReport } from './record-large-report.ts';
import { type ReportDeps, recordReport, recordUnchanged } from './record-report.ts';
import { findReport, type Section } from './store.ts';

export type TakeDeps = ReportDeps & { large: LargeReports };

/**
 * Takes a report as bytes, which are hashed first and parsed only if they differ from the stored report.
 * A thread reads a large one, and many transactions write it, so that it delays nobody.
 */
export async function takeReport(
  deps: TakeDeps,
  { bytes, ...section }: Section & { bytes: Uint8Array },
): Promise<InventoryAnswer> {
  const { database } = deps.platform;
  const stored = await findReport(database.read, section);
  const knownDigest = stored?.digest ?? null;
  const answerKnown = async () => {
    const known = { receivedAtMs: stored?.received_at ?? 0, complete: stored?.complete === 1 };
    return { accepted: true, updates: await recordUnchanged(deps, { ...section, ...known }) };
  };
  // The thread that reads a large report takes ownership of its bytes.
  const sizeBytes = bytes.length;
  if (sizeBytes > SMALL_REPORT_MAX_BYTES) {
    return deps.large.admit(section.agentId, async () => {
      const read = await deps.large.read({ ecosystem: section.ecosystem, body: bytes, knownDigest });
      switch (read.kind) {
        case 'known':
          return answerKnown();
        case 'unavailable':
          throw unreadable();
        case 'read':
          return recordParts(deps, {
            ...{ ...section, digest: read.digest, sizeBytes },
            report: accepted(read.reading),
          });
      }
    });
  }
  const digest = reportDigest(bytes);
  if (digest === knownDigest) return answerKnown();
  const report = accepted(readReport(section.ecosystem, bytes));
  if (itemsOf(report) + (stored?.package_count ?? 0) > SMALL_REPORT_MAX_ITEMS || stored?.writing != null) {
    const parts = { ...section, report, digest, sizeBytes };
    return deps.large.admit(section.agentId, () => recordParts(deps, parts));
  }
  const { agentId } = section;
  await chargeReport(deps.platform, { agentId, rows: chargedRows(report), bytes: sizeBytes });
  const updates = await database.transact((tx) => recordReport(tx, deps, { ...section, report, digest }));
  if (!updates) throw noAgent();
  return { accepted: true, updates };
}

/** Records a report in many transactions. */
export async function recordParts(
  deps: TakeDeps,
  { sizeBytes, ...args }: Section & { report: ReadReport; digest: string; sizeBytes: number },
): Promise<InventoryAnswer> {
  const { agentId, report } = args;
  await chargeReport(deps.platform, { agentId, rows: chargedRows(report), bytes: sizeBytes });
  const outcome = await recordLargeReport(deps, args);
  switch (outcome.kind) {
    case 'recorded':
      return { accepted: true, updates: outcome.updates };
    case 'overtaken':
      throw new Refusal('conflict', { detail: 'Another report of this ecosystem arrived meanwhile.' });
    case 'gone':
      throw noAgent();
  }
}

export function accepted(reading: Reading): ReadReport {
  if (reading.ok) return reading.report;
  throw refusalOf(reading);
}

export function refusalOf(reading: Extract<Reading, { ok: false }>): Refusal {
  if (reading.kind === 'too_large') return tooLarge('in one request', ONE_REQUEST);
  const { detail, errors } = reading;
  return new Refusal('invalid_request', { detail, errors });
}

function itemsOf({ packages, updates }: ReadReport): number {
  return updates.reduce((sum, { plan }) => sum + 1 + (plan?.actions.length ?? 0), packages.length);
}

/** Each candidate may be looked up at the source of advisories. */
function chargedRows(report: ReadReport): number {
  return report.updates.reduce((sum, { candidates = [] }) => sum + candidates.length, itemsOf(report));
}

export function unreadable(): Refusal {
  const detail = 'The report could not be read; retry later.';
  return new Refusal('unavailable', { detail, retryAfterSeconds: 60 });
}

export function noAgent(): Refusal {
  return new Refusal('not_found', { detail: 'There is no such agent.' });
}
