import { BODY_MAX_BYTES, InventoryAnswer, PartAnswer } from '@tidegate/protocol/agent-api';
import type { ProblemCode } from '@tidegate/protocol/problems';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import { callAgent, type Runtime } from '../commands/runtime.ts';
import type { SaveOutcome } from '../identity/config-file.ts';
import type { Failure } from '../platform/failures.ts';
import type { EncodedReport } from './split-report.ts';

/** Longest wait for the answer to a report: a large one takes its turn on the server. */
const REPORT_TIMEOUT_MS = 120_000;
/** Most events in one request (wire.md). */
const EVENTS_PER_REQUEST = 100;
/** And most bytes of them: half of the largest body. */
const EVENT_BYTES_PER_REQUEST = BODY_MAX_BYTES / 2;

/** Sends what the journal holds: results first, then events. Null when all of it has arrived. */
export async function sendJournal(runtime: Runtime): Promise<Failure | null> {
  return (await sendResults(runtime)) ?? (await sendEvents(runtime));
}

async function sendResults(runtime: Runtime): Promise<Failure | null> {
  const { journal, log } = runtime;
  for (const { commandId, result } of journal.unreported()) {
    const answer = await callAgent(runtime, {
      method: 'POST',
      path: `/commands/${commandId}/result`,
      body: result,
    });
    if (!answer.ok) {
      if (answer.failure.kind !== 'rejected') return answer.failure;
      // It has ended on the server, or is not known there any more: sending it again would not change that.
      const { code } = answer.failure;
      if (code === 'agent_too_old') continue; // it is taken from the version that follows
      log.warn('a result was not taken', { command_id: commandId, code });
    }
    const failure = storageFailure(journal.reported(commandId));
    if (failure !== null) return failure;
  }
  return null;
}

/** In order, and again until the server has said that it has them; it knows an event that comes twice by its id. */
async function sendEvents(runtime: Runtime): Promise<Failure | null> {
  const { journal, log } = runtime;
  let most = EVENTS_PER_REQUEST;
  while (journal.events().length > 0) {
    const events = journal.beginSending({ events: most, bytes: EVENT_BYTES_PER_REQUEST });
    const answer = await callAgent(runtime, { method: 'POST', path: '/events', body: { events } });
    const isUnsound = !answer.ok && answer.failure.kind === 'rejected' && isAboutContent(answer.failure.code);
    // Only what cannot be taken by itself is given up, and nothing beside it.
    const isHopeless = isUnsound && events.length === 1;
    const failure = storageFailure(journal.endSending({ isDelivered: answer.ok || isHopeless }));
    if (failure !== null) return failure;
    if (isHopeless) log.error('an event was not taken', { type: events[0]?.type ?? null });
    if (isUnsound) most = Math.max(1, Math.floor(events.length / 2));
    else if (!answer.ok) return answer.failure.kind === 'rejected' ? null : answer.failure;
    else most = EVENTS_PER_REQUEST;
  }
  return null;
}

/** Whether sending the same again cannot help; the other refusals (an agent that is too old) may end. */
function isAboutContent(code: ProblemCode): boolean {
  return code === 'invalid_request' || code === 'payload_too_large';
}

/**
 * Sends the reports that the server asked for, byte for byte as their digest was told, those that an operator wants,
 * and those whose answer is needed to send plans.
 */
export async function sendInventory(
  runtime: Runtime,
  { askedFor = [], wanted = [] }: { askedFor?: readonly Ecosystem[]; wanted?: readonly Ecosystem[] },
): Promise<{ sent: number; failure: Failure | null }> {
  const { inventory, plans, log } = runtime;
  let sent = 0;
  for (const ecosystem of new Set([...askedFor, ...wanted, ...plans.lackingIds()])) {
    const report = inventory.report(ecosystem);
    if (report === null) continue;
    const { sha256 } = report;
    const answer = await sendReport(runtime, { ecosystem, report });
    if (!answer.ok && answer.failure.kind !== 'rejected') return { sent, failure: answer.failure };
    const isAskedFor = askedFor.includes(ecosystem);
    if (!answer.ok || !Check(InventoryAnswer, answer.value.body)) {
      const reason = answer.ok ? 'an answer of unknown form' : describeRejection(answer.failure);
      log.error('the inventory was not taken', { ecosystem, reason });
      plans.reported(ecosystem, { sha256, updates: [], isAskedFor }); // it is not sent again for its ids
      continue;
    }
    const { updates } = answer.value.body;
    plans.reported(ecosystem, { sha256, updates, isAskedFor });
    sent += 1;
    log.info('inventory reported', { ecosystem, updates: updates.length });
  }
  return { sent, failure: null };
}

/** Sends the bodies of a report in their order, and returns the last answer: that to the report. */
async function sendReport(
  runtime: Runtime,
  { ecosystem, report: { bodies, sha256 } }: { ecosystem: Ecosystem; report: EncodedReport },
): Promise<Awaited<ReturnType<typeof callAgent>>> {
  const path = `/inventory/${ecosystem}`;
  const put = (to: string, body: Uint8Array | undefined) =>
    callAgent(runtime, { method: 'PUT', path: to, body, timeoutMs: REPORT_TIMEOUT_MS });
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
    // The server gave some up, for their time was over. Where it wants as many as before, more of it does not help.
    if (left.length === 0 || left.length >= missing.length) return answer;
    missing = left;
  }
}

function describeRejection(failure: Failure): string {
  return failure.kind === 'rejected' ? `${failure.code}: ${failure.detail}` : failure.detail;
}

function storageFailure(outcome: SaveOutcome): Failure | null {
  return outcome.ok ? null : { kind: 'storage', detail: outcome.detail };
}
