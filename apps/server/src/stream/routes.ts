import { Readable } from 'node:stream';
import { strict } from '@tidegate/protocol/scalars';
import type { StreamMessage } from '@tidegate/protocol/stream-api';
import { type Static, Type } from 'typebox';
import { rfc3339 } from '../platform/clock.ts';
import { type Identify, isStillLive } from '../platform/http/live-caller.ts';
import type { Routes } from '../platform/http/routes.ts';
import { createSeats } from '../platform/http/seats.ts';
import type { Platform } from '../platform/platform.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import type { ChangeWatch } from './watch-changes.ts';

/** Most open streams: in total, and for one operator. */
export const STREAMS_MAX = 256;
export const STREAMS_PER_OPERATOR = 8;
const HEARTBEAT_MS = 15_000;
/** Time that a browser waits before it reconnects, in milliseconds. */
const RETRY_MS = 3_000;

export interface StreamDeps {
  platform: Pick<Platform, 'now'>;
  watch: ChangeWatch;
  identify: Identify;
  /** HEARTBEAT_MS unless a test says otherwise. */
  heartbeatMs?: number;
}

/** Changes, for the console: topics and ids only. Each operator then reads the data with their own rights. */
export function mountStream(routes: Routes, deps: StreamDeps): void {
  const { platform, watch, heartbeatMs = HEARTBEAT_MS } = deps;
  const open = createSeats({ total: STREAMS_MAX, each: STREAMS_PER_OPERATOR, what: 'streams' });

  routes.operator({
    method: 'GET',
    url: '/api/v1/stream',
    access: { role: 'viewer', limit: 'admin_reads', reach: 'scope' },
    schema: {
      summary: 'Live changes (server-sent events)',
      description: `Each event's data is \`${JSON.stringify(EXAMPLE)}\`. Missed events are not sent again after a reconnection.`,
      tags: ['stream'],
      produces: ['text/event-stream'],
      querystring: strict({
        seconds: Type.Optional(
          Type.String({ pattern: '^([0-9]|[1-5][0-9]|60)$', description: 'the stream ends after this time' }),
        ),
      }),
      response: { 200: Type.Unsafe<Readable>(Type.String()) },
    },
    handler: async ({ operator: caller, query, request, reply }) => {
      const leave = open.take(caller.operatorId);
      const closed = new AbortController();
      const { seconds } = query;
      const outbox = createOutbox({ withIds: caller.groups === null });
      reply.raw.once('close', () => closed.abort());
      const ended = seconds === undefined ? [] : [AbortSignal.timeout(Number(seconds) * 1_000)];
      const signal = AbortSignal.any([closed.signal, routes.stopping, ...ended]);
      try {
        const unlisten = await watch.listen((changes) => outbox.add(changes));
        const heartbeat = setInterval(() => {
          // The client has not taken what was ready at the last heartbeat: disconnect it.
          if (!outbox.beat()) reply.raw.destroy();
        }, heartbeatMs);
        const end = () => {
          clearInterval(heartbeat);
          unlisten();
          leave();
        };
        if (signal.aborted) end();
        else signal.addEventListener('abort', end, { once: true });
      } catch (error) {
        leave();
        throw error;
      }
      const isLive = () => isStillLive(deps.identify, request, caller);
      return (
        reply
          .header('content-type', 'text/event-stream; charset=utf-8')
          .header('x-accel-buffering', 'no')
          // A stop closes idle connections only once: this one must not become idle afterwards.
          .header('connection', 'close')
          .send(Readable.from(streamChanges({ outbox, signal, isLive, now: platform.now })))
      );
    },
  });
}

const EXAMPLE: Static<typeof StreamMessage> = {
  topic: 'updates',
  ids: ['01900000-0000-7000-8000-000000000001'],
  at: '2026-11-21T09:00:00.000Z',
};

/** The text of a stream. It ends with the signal, or with the session, which is checked at each heartbeat. */
export async function* streamChanges(args: {
  outbox: Outbox;
  signal: AbortSignal;
  isLive: () => Promise<boolean>;
  now: () => number;
}): AsyncGenerator<string> {
  const { outbox, signal, isLive, now } = args;
  yield `retry: ${RETRY_MS}\n: open\n\n`;
  while (!signal.aborted) {
    const { changes, beat } = await outbox.take(signal);
    for (const { topic, ids } of changes) {
      const message: StreamMessage = { topic, ...(ids ? { ids: [...ids] } : {}), at: rfc3339(now()) };
      yield `data: ${JSON.stringify(message)}\n\n`;
    }
    if (!beat) continue;
    if (!(await isLive())) return;
    yield ': beat\n\n';
  }
}
