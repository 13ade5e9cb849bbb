import type { AgentEvent } from '@tidegate/protocol/agent-api';
import type { AgentEventType } from '@tidegate/protocol/event-types';

/** How much may wait for the server. */
export interface QueueLimits {
  events: number;
  /** As JSON in UTF-8. */
  bytes: number;
}
export const EVENT_QUEUE_LIMITS: QueueLimits = { events: 500, bytes: 2 * 1024 * 1024 };
/** Maximum details of one event, in bytes as JSON; the server's limit. */
export const EVENT_DETAILS_MAX_BYTES = 8_192;

const CHECK = 'events_dropped';

/** Gives an event the id that identifies it when it is resent, and bounds its details. */
export function identified(event: AgentEvent, eventId: string): AgentEvent {
  const details = event.details ?? {};
  const isLarge = jsonBytes(details) > EVENT_DETAILS_MAX_BYTES - 100;
  return { ...event, details: { ...(isLarge ? { details_dropped: true } : details), event_id: eventId } };
}

/**
 * Puts an event at the end of the queue. Past a limit the oldest are dropped; one event at the front counts the
 * dropped ones by type. Events in `pinned` are kept: they are being sent.
 */
export function enqueued(
  queue: readonly AgentEvent[],
  event: AgentEvent,
  options: { limits: QueueLimits; pinned: ReadonlySet<AgentEvent>; summaryId: string },
): AgentEvent[] {
  const { limits, pinned } = options;
  const waiting = [...queue, event];
  const before = waiting.find((entry) => isSummary(entry) && !pinned.has(entry));
  const dropped: AgentEvent[] = [];
  const kept = waiting.filter((entry) => entry !== before);
  const mayGo = kept.filter((entry) => !pinned.has(entry) && entry !== event);
  let summary = before ?? null;
  for (const entry of mayGo) {
    if (isWithin(summary === null ? kept : [summary, ...kept], limits)) break;
    dropped.push(entry);
    kept.splice(kept.indexOf(entry), 1);
    summary = summaryOf(dropped, before ?? null, options.summaryId);
  }
  return summary === null ? kept : [summary, ...kept];
}

/** The longest prefix of the queue within the limits; always includes the first event. */
export function batchOf(queue: readonly AgentEvent[], limits: QueueLimits): AgentEvent[] {
  const batch: AgentEvent[] = [];
  let bytes = 0;
  for (const event of queue) {
    bytes += jsonBytes(event) + 1;
    if (batch.length > 0 && (batch.length >= limits.events || bytes > limits.bytes)) break;
    batch.push(event);
  }
  return batch;
}

function isWithin(queue: readonly AgentEvent[], limits: QueueLimits): boolean {
  return queue.length <= limits.events && jsonBytes(queue) <= limits.bytes;
}

function summaryOf(dropped: readonly AgentEvent[], before: AgentEvent | null, eventId: string): AgentEvent {
  const counts = { ...countsOf(before) };
  for (const { type } of dropped) counts[type] = (counts[type] ?? 0) + 1;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const [first, last] = [dropped[0], dropped.at(-1)];
  return {
    type: 'AGENT_ERROR',
    severity: 'error',
    message: `${total} events were dropped here before the server had them: more came up than this host keeps.`,
    at: last?.at ?? before?.at ?? '1970-01-01T00:00:00Z',
    details: {
      check: CHECK,
      dropped: counts,
      first_at: before?.details?.first_at ?? first?.at,
      event_id: eventId,
    },
  };
}

function isSummary({ type, details }: AgentEvent): boolean {
  return type === 'AGENT_ERROR' && details?.check === CHECK;
}

function countsOf(summary: AgentEvent | null): Partial<Record<AgentEventType, number>> {
  const counts: unknown = summary?.details?.dropped;
  if (typeof counts !== 'object' || counts === null) return {};
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => typeof count === 'number'));
}

function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
