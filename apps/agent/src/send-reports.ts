import { InventoryAnswer } from '@tidegate/protocol/agent-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import type { SaveOutcome } from './config-file.ts';
import type { Failure } from './failures.ts';
import { callAgent, type Runtime } from './runtime.ts';

/** Most events in one request (wire.md). */
const EVENTS_PER_REQUEST = 100;

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
      log.warn('a result was not taken', { command_id: commandId, code });
    }
    const failure = storageFailure(journal.reported(commandId));
    if (failure !== null) return failure;
  }
  return null;
}

async function sendEvents(runtime: Runtime): Promise<Failure | null> {
  const { journal, log } = runtime;
  while (journal.events().length > 0) {
    const events = journal.events().slice(0, EVENTS_PER_REQUEST);
    const answer = await callAgent(runtime, { method: 'POST', path: '/events', body: { events } });
    if (!answer.ok && answer.failure.kind !== 'rejected') return answer.failure;
    if (!answer.ok) log.warn('events were not taken', { count: events.length });
    const failure = storageFailure(journal.dropEvents(events.length));
    if (failure !== null) return failure;
  }
  return null;
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
