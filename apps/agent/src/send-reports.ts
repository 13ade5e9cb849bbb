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

/** Sends the reports that the server asked for, byte for byte as their digest was told. */
export async function sendInventory(
  runtime: Runtime,
  wanted: readonly Ecosystem[],
): Promise<{ sent: number; failure: Failure | null }> {
  let sent = 0;
  for (const ecosystem of wanted) {
    const body = runtime.inventory.body(ecosystem);
    if (body === null) continue;
    const answer = await callAgent(runtime, { method: 'PUT', path: `/inventory/${ecosystem}`, body });
    if (!answer.ok && answer.failure.kind !== 'rejected') return { sent, failure: answer.failure };
    if (!answer.ok || !Check(InventoryAnswer, answer.value.body)) {
      const reason = answer.ok ? 'an answer of unknown form' : describeRejection(answer.failure);
      runtime.log.error('the inventory was not taken', { ecosystem, reason });
      continue;
    }
    sent += 1;
    runtime.log.info('inventory reported', { ecosystem, updates: answer.value.body.updates.length });
  }
  return { sent, failure: null };
}

function describeRejection(failure: Failure): string {
  return failure.kind === 'rejected' ? `${failure.code}: ${failure.detail}` : failure.detail;
}

function storageFailure(outcome: SaveOutcome): Failure | null {
  return outcome.ok ? null : { kind: 'storage', detail: outcome.detail };
}
