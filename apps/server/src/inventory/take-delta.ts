import type { InventoryAnswer } from '@tidegate/protocol/agent-api';
import { reportsSpent } from '../outsiders/charge.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { openUpdates } from '../updates/record-scan.ts';
import { readDelta } from './read-report.ts';
import { recordDelta } from './record-delta.ts';
import { type ReportDeps, recordUnchanged } from './record-report.ts';
import type { Section } from './store.ts';
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
  const args = { ...section, delta: read.delta, sizeBytes: bytes.length };
  const outcome = await database.transact((tx) => recordDelta(tx, deps, args));
  switch (outcome.kind) {
    case 'recorded':
      return { accepted: true, updates: outcome.updates };
    case 'known':
      await recordUnchanged(deps, { ...section, receivedAtMs: outcome.receivedAtMs });
      return { accepted: true, updates: await openUpdates(database.read, section) };
    case 'unfit':
      throw new Refusal('whole_report_required', { detail: `${outcome.reason} Send the whole report.` });
    case 'budget_spent':
      throw reportsSpent(platform);
    case 'gone':
      throw noAgent();
  }
}
