import { BODY_MAX_BYTES, InventoryAnswer } from '@tidegate/protocol/agent-api';
import type { ProblemCode } from '@tidegate/protocol/problems';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import type { SaveOutcome } from './config-file.ts';
import type { Failure } from './failures.ts';
import { callAgent, type Runtime } from './runtime.ts';

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
    const body = inventory.body(ecosystem);
    const sha256 = inventory.digests()[ecosystem];
    if (body === null || sha256 === undefined) continue;
    const answer = await callAgent(runtime, { method: 'PUT', path: `/inventory/${ecosystem}`, body });
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

function describeRejection(failure: Failure): string {
  return failure.kind === 'rejected' ? `${failure.code}: ${failure.detail}` : failure.detail;
}

function storageFailure(outcome: SaveOutcome): Failure | null {
  return outcome.ok ? null : { kind: 'storage', detail: outcome.detail };
}
