import { InventoryAnswer, PartAnswer } from '@tidegate/protocol/agent-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';
import type { Inventory } from './inventory.ts';
import type { Plans } from './plans.ts';
import type { EncodedReport } from './split-report.ts';

/** Longest wait for the answer to a report: a large one takes its turn on the server. */
const REPORT_TIMEOUT_MS = 120_000;

export interface ReportParts extends AgentSession {
  inventory: Inventory;
  plans: Plans;
  log: Log;
}

/**
 * Sends the reports that the server or an operator requested, byte for byte as announced by digest, and those
 * whose answer is needed to send plans.
 */
export async function sendInventory(
  parts: ReportParts,
  { askedFor = [], wanted = [] }: { askedFor?: readonly Ecosystem[]; wanted?: readonly Ecosystem[] },
): Promise<{ sent: number; failure: Failure | null }> {
  const { inventory, plans, log } = parts;
  let sent = 0;
  for (const ecosystem of new Set([...askedFor, ...wanted, ...plans.lackingIds()])) {
    const report = inventory.report(ecosystem);
    if (report === null) continue;
    const { sha256 } = report;
    const isAskedFor = askedFor.includes(ecosystem);
    const delta = inventory.delta(ecosystem, { isAskedFor });
    const changed = delta === null ? null : await sendDelta(parts, { ecosystem, delta });
    const answer = changed ?? (await sendReport(parts, { ecosystem, report }));
    if (!answer.ok && answer.failure.kind !== 'rejected') return { sent, failure: answer.failure };
    if (!answer.ok || !Check(InventoryAnswer, answer.value.body)) {
      const reason = answer.ok ? 'an answer in an unknown format' : describeRejection(answer.failure);
      log.error('the inventory was not accepted', { ecosystem, reason });
      plans.reported(ecosystem, { sha256, updates: [], isAskedFor }); // it is not sent again for its ids
      continue;
    }
    const { updates } = answer.value.body;
    inventory.acknowledged(ecosystem, sha256);
    plans.reported(ecosystem, { sha256, updates, isAskedFor });
    sent += 1;
    log.info('inventory reported', { ecosystem, updates: updates.length, whole: changed === null });
  }
  return { sent, failure: null };
}

/** Null where the whole report has to be sent at once. */
async function sendDelta(
  parts: ReportParts,
  { ecosystem, delta }: { ecosystem: Ecosystem; delta: Uint8Array },
): Promise<Awaited<ReturnType<typeof callAgent>> | null> {
  const request = { method: 'PATCH', path: `/inventory/${ecosystem}`, body: delta } as const;
  const answer = await callAgent(parts, { ...request, timeoutMs: REPORT_TIMEOUT_MS });
  if (answer.ok) return answer;
  parts.inventory.deltaFailed(ecosystem, answer.failure);
  return answer.failure.kind === 'rejected' ? null : answer;
}

/** Sends the bodies of a report in their order, and returns the last answer: that to the report. */
async function sendReport(
  parts: ReportParts,
  { ecosystem, report: { bodies, sha256 } }: { ecosystem: Ecosystem; report: EncodedReport },
): Promise<Awaited<ReturnType<typeof callAgent>>> {
  const path = `/inventory/${ecosystem}`;
  const put = (to: string, body: Uint8Array | undefined) =>
    callAgent(parts, { method: 'PUT', path: to, body, timeoutMs: REPORT_TIMEOUT_MS });
  if (bodies.length === 1) return put(path, bodies[0]);
  const numbers = bodies.map((_, index) => index + 1);
  let missing: readonly number[] = numbers;
  for (;;) {
    let answer: Awaited<ReturnType<typeof callAgent>> | null = null;
    for (const part of missing) {
      answer = await put(`${path}/parts/${sha256}/${part}?parts=${bodies.length}`, bodies[part - 1]);
      if (!answer.ok || !Check(PartAnswer, answer.value.body)) return answer;
    }
    if (answer === null || !answer.ok || !Check(PartAnswer, answer.value.body))
      throw new Error('a report without parts');
    const { missing: left } = answer.value.body;
    // The server dropped expired parts. If it still lacks as many as before, resending does not help.
    if (left.length === 0 || left.length >= missing.length) return answer;
    missing = left;
  }
}

function describeRejection(failure: Failure): string {
  return failure.kind === 'rejected' ? `${failure.code}: ${failure.detail}` : failure.detail;
}
