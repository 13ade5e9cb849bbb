import type { InventoryAnswer } from '@tidegate/protocol/agent-api';
import { reportsSpent } from '../outsiders/charge.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { readDelta } from './read-report.ts';
import { NO_BASE, recordDelta } from './record-delta.ts';
import { type ReportDeps, recordUnchanged } from './record-report.ts';
import { findReport, type Section } from './store.ts';
import { noAgent, refusalOf } from './take-report.ts';

/** Takes what has changed since a report that the server has. A repeated delta is answered like the first. */
export async function takeDelta(
  deps: ReportDeps,
  { bytes, ...section }: Section & { bytes: Uint8Array },
): Promise<InventoryAnswer> {
  const { platform } = deps;
  const { database } = platform;
  const read = readDelta(section.ecosystem, bytes);
  if (!read.ok) throw refusalOf(read);
  if (read.delta.base_sha256 === read.delta.report_sha256)
    return answerSame(deps, { ...section, digest: read.delta.report_sha256 });
  const args = { ...section, delta: read.delta, sizeBytes: bytes.length };
  const outcome = await database.transact((tx) => recordDelta(tx, deps, args));
  switch (outcome.kind) {
    case 'recorded':
      return { accepted: true, updates: outcome.updates };
    case 'known':
      return answerKnown(deps, { ...section, receivedAtMs: outcome.receivedAtMs });
    case 'unfit':
      throw unfit(outcome.reason);
    case 'budget_spent':
      throw reportsSpent(platform);
    case 'gone':
      throw noAgent();
  }
}

/** Answers a host that wants only the ids of its updates, by a report that the server has: it reads, and writes nothing. */
async function answerSame(
  deps: ReportDeps,
  { digest, ...section }: Section & { digest: string },
): Promise<InventoryAnswer> {
  const { database } = deps.platform;
  const stored = await findReport(database.read, section);
  if (stored?.complete !== 1 || stored.digest !== digest) throw unfit(NO_BASE);
  return answerKnown(deps, { ...section, receivedAtMs: stored.received_at });
}

async function answerKnown(
  deps: ReportDeps,
  section: Section & { receivedAtMs: number },
): Promise<InventoryAnswer> {
  return { accepted: true, updates: await recordUnchanged(deps, { ...section, complete: true }) };
}

function unfit(reason: string): Refusal {
  return new Refusal('whole_report_required', { detail: `${reason} Send the whole report.` });
}
