import type { AgentEvent } from '@tidegate/protocol/agent-api';
import { describe, expect, test } from 'vitest';
import { NOW_MS } from '../testing/fleet.ts';
import { batchOf, EVENT_DETAILS_MAX_BYTES, enqueued, identified } from './event-queue-rules.ts';
import { agentEvent } from './events.ts';

const PLENTY = { events: 100, bytes: 1_000_000 };
const event = (n: number, type: AgentEvent['type'] = 'COMMAND_REFUSED') =>
  identified(agentEvent(type, `event ${n}`, { nowMs: NOW_MS + n * 1_000 }), `id-${n}`);

function fill(
  events: readonly AgentEvent[],
  limits = PLENTY,
  pinned: ReadonlySet<AgentEvent> = new Set(),
): AgentEvent[] {
  return events.reduce<AgentEvent[]>(
    (queue, entry, index) => enqueued(queue, entry, { limits, pinned, summaryId: `summary-${index}` }),
    [],
  );
}

describe('a full queue', () => {
  test('keeps the newest events, after a summary of the dropped ones by type and time', () => {
    const types = ['COMMAND_REFUSED', 'PLAN_DRIFT', 'COMMAND_REFUSED'] as const;
    const queue = fill([...types.map((type, n) => event(n, type)), event(3), event(4)], {
      ...PLENTY,
      events: 3,
    });
    expect(queue.slice(1)).toEqual([event(3), event(4)]);
    expect(queue[0]).toMatchObject({
      type: 'AGENT_ERROR',
      message: expect.stringContaining('3 events were dropped'),
      at: event(2).at,
      details: {
        check: 'events_dropped',
        dropped: { COMMAND_REFUSED: 2, PLAN_DRIFT: 1 },
        first_at: event(0).at,
        event_id: 'summary-4',
      },
    });
  });

  test('counts on over a thousand events and stays within both limits', () => {
    const limits = { events: 50, bytes: 5_000 };
    const queue = fill(
      Array.from({ length: 1_000 }, (_, n) => event(n)),
      limits,
    );
    expect(queue.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(queue).length).toBeLessThanOrEqual(5_000);
    expect(queue[0]?.details?.dropped).toEqual({ COMMAND_REFUSED: 1_000 - (queue.length - 1) });
    expect(queue.at(-1)).toEqual(event(999));
  });

  test('is bounded in bytes alone as well', () => {
    const queue = fill(
      Array.from({ length: 8 }, (_, n) => event(n)),
      { events: 100, bytes: 600 },
    );
    expect(queue[0]?.details).toMatchObject({ check: 'events_dropped' });
    expect(JSON.stringify(queue).length).toBeLessThanOrEqual(600);
  });

  test('drops no event that is being sent, not even an earlier summary', () => {
    const limits = { ...PLENTY, events: 3 };
    const first = fill([event(0), event(1), event(2), event(3)], limits);
    const pinned = new Set(first.slice(0, 2));
    const next = enqueued(first, event(4), { limits, pinned, summaryId: 'second' });
    expect(next).toEqual(expect.arrayContaining([...pinned]));
    expect(next[0]).toMatchObject({ details: { dropped: { COMMAND_REFUSED: 1 }, event_id: 'second' } });
    expect(next.at(-1)).toEqual(event(4));
  });
});

describe('one event', () => {
  test('carries its id in its details', () => {
    const details = { check: 'expired' };
    const made = identified(agentEvent('COMMAND_REFUSED', 'x', { nowMs: NOW_MS, details }), 'id');
    expect(made.details).toEqual({ check: 'expired', event_id: 'id' });
  });

  test('drops details that are too large and keeps its id', () => {
    const details = { text: '\u0001'.repeat(EVENT_DETAILS_MAX_BYTES) };
    const made = identified(agentEvent('AGENT_ERROR', 'x', { nowMs: NOW_MS, details }), 'id');
    expect(made.details).toEqual({ details_dropped: true, event_id: 'id' });
  });
});

test('a batch is bounded in number and bytes, ordered, and never empty while events are queued', () => {
  const queue = [event(0), event(1), event(2)];
  expect(batchOf(queue, { ...PLENTY, events: 2 })).toEqual(queue.slice(0, 2));
  expect(batchOf(queue, { ...PLENTY, bytes: 10 })).toEqual(queue.slice(0, 1));
  expect(batchOf(queue, PLENTY)).toEqual(queue);
  expect(batchOf([], PLENTY)).toEqual([]);
});
