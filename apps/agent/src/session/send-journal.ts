import { BODY_MAX_BYTES } from '@tidegate/protocol/agent-api';
import type { ProblemCode } from '@tidegate/protocol/problems';
import type { Journal } from '../journal/journal.ts';
import { type Failure, storageFailure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import { type AgentSession, callAgent } from './call-agent.ts';

/** Most events in one request (docs/protocol/endpoints.md). */
const EVENTS_PER_REQUEST = 100;
/** And most bytes of them: half of the largest body. */
const EVENT_BYTES_PER_REQUEST = BODY_MAX_BYTES / 2;

export interface JournalParts extends AgentSession {
  journal: Journal;
  log: Log;
}

/** Sends what the journal holds: results first, then events. Null when all of it has arrived. */
export async function sendJournal(parts: JournalParts): Promise<Failure | null> {
  return (await sendResults(parts)) ?? (await sendEvents(parts));
}

async function sendResults(parts: JournalParts): Promise<Failure | null> {
  const { journal, log } = parts;
  for (const { commandId, result } of journal.unreported()) {
    const answer = await callAgent(parts, {
      method: 'POST',
      path: `/commands/${commandId}/result`,
      body: result,
    });
    if (!answer.ok) {
      if (answer.failure.kind !== 'rejected') return answer.failure;
      // It has ended on the server, or is not known there any more: sending it again would not change that.
      const { code } = answer.failure;
      if (code === 'agent_too_old') continue; // it is taken from the version that follows
      log.warn('the server refused a result', { command_id: commandId, code });
    }
    const failure = storageFailure(journal.reported(commandId));
    if (failure !== null) return failure;
  }
  return null;
}

/** Sends events in order and retries until acknowledged; the server deduplicates them by id. */
async function sendEvents(parts: JournalParts): Promise<Failure | null> {
  const { journal, log } = parts;
  let most = EVENTS_PER_REQUEST;
  while (journal.events().length > 0) {
    const events = journal.beginSending({ events: most, bytes: EVENT_BYTES_PER_REQUEST });
    const answer = await callAgent(parts, { method: 'POST', path: '/events', body: { events } });
    const isRefused = !answer.ok && answer.failure.kind === 'rejected' && isAboutContent(answer.failure.code);
    // Only an event that is refused on its own is dropped.
    const isDropped = isRefused && events.length === 1;
    const failure = storageFailure(journal.endSending({ isDelivered: answer.ok || isDropped }));
    if (failure !== null) return failure;
    if (isDropped) log.error('the server refused an event', { type: events[0]?.type ?? null });
    if (isRefused) most = Math.max(1, Math.floor(events.length / 2));
    else if (!answer.ok) return answer.failure.kind === 'rejected' ? null : answer.failure;
    else most = EVENTS_PER_REQUEST;
  }
  return null;
}

/** Whether resending is useless; other refusals (an agent that is too old) may end. */
function isAboutContent(code: ProblemCode): boolean {
  return code === 'invalid_request' || code === 'payload_too_large';
}
