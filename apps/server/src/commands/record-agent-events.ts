import type { AgentEvent } from '@tidegate/protocol/agent-api';
import { Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { chainKept } from '../events/chain-events.ts';
import { newestContents } from '../events/store.ts';
import { appendOutsiderEvent } from '../outsiders/charge.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';

/** Maximum length of an agent's text, in characters. */
const MESSAGE_MAX_CHARS = 1_000;
/** Larger details are left out; JSON text, in characters. */
const DETAILS_MAX_CHARS = 8_192;

/** How many events are searched for repetitions; an agent sends at most 100 until they are acknowledged. */
const LOOK_BACK_EVENTS = 500;
const COMPONENT = 'agent';

/**
 * Stores an agent's own events as security events; their text is bounded and untrusted. An agent repeats an
 * event, under the same id, until it has our answer: stored ones are skipped. Past its daily budget events
 * are counted and dropped, so that the agent does not repeat them for ever.
 */
export async function recordAgentEvents(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, events }: { agentId: string; events: readonly AgentEvent[] },
): Promise<void> {
  const stored = await storedIds(tx, agentId, events);
  for (const event of events) {
    const id = eventId(event.details);
    if (id !== null && stored.has(id)) continue;
    if (id !== null) stored.add(id);
    await appendOutsiderEvent(tx, platform, {
      kind: 'agent_events',
      subject: { agentId },
      event: {
        kind: 'security',
        type: event.type,
        severity: event.severity,
        component: COMPONENT,
        agentId,
        actor: 'agent',
        content: { message: event.message.slice(0, MESSAGE_MAX_CHARS), at: event.at, ...detailsOf(event) },
      },
    });
  }
}

async function storedIds(tx: Tx, agentId: string, events: readonly AgentEvent[]): Promise<Set<string>> {
  if (events.every(({ details }) => eventId(details) === null)) return new Set();
  await chainKept(tx); // serializes a repeated request, so that the second sees the first
  const contents = await newestContents(tx, { agentId, component: COMPONENT, limit: LOOK_BACK_EVENTS });
  return new Set(contents.flatMap((content) => idOfStored(content) ?? []));
}

const StoredContent = Type.Object({ details: Type.Object({ event_id: Uuid }) });

function idOfStored(content: string): string | null {
  const value: unknown = JSON.parse(content);
  return Check(StoredContent, value) ? value.details.event_id : null;
}

function eventId(details: AgentEvent['details']): string | null {
  const id = details?.event_id;
  return Check(Uuid, id) ? id : null;
}

function detailsOf({ details }: AgentEvent): Record<string, unknown> {
  if (details === undefined) return {};
  return JSON.stringify(details).length > DETAILS_MAX_CHARS ? { details_dropped: true } : { details };
}
