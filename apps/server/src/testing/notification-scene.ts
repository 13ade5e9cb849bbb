import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Severity, SystemEventType } from '@tidegate/protocol/event-types';
import type { RuleRequest } from '@tidegate/protocol/notifications-api';
import { onTestFinished } from 'vitest';
import { appendEvent } from '../events/append-event.ts';
import { sendMessage } from '../notifications/channels/send-message.ts';
import { deliverNext } from '../notifications/deliver.ts';
import type { NotificationDeps } from '../notifications/deps.ts';
import { addChannel } from '../notifications/manage-channels.ts';
import { addRule } from '../notifications/manage-rules.ts';
import { takeEvents } from '../notifications/take-events.ts';
import { createDestinations } from '../platform/destinations.ts';
import { createOutgoing } from '../platform/outgoing.ts';
import type { Platform } from '../platform/platform.ts';

export interface Received {
  readonly id: string;
  readonly subject: string;
  readonly link: string | null;
  readonly payload: { kind: string; events?: { id: string; text: string }[] } & Record<string, unknown>;
}

/** A real HTTP server that keeps what it receives; `answer` decides the status. */
export async function startReceiver() {
  const received: Received[] = [];
  const receiver = { received, url: '', status: 200, requests: 0, retryAfter: null as string | null };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      receiver.requests += 1;
      const { data } = JSON.parse(Buffer.concat(parts).toString());
      if (receiver.status < 300) {
        const { subject, link, severity: _, ...payload } = data;
        received.push({ id: String(request.headers['webhook-id']), subject, link, payload });
      }
      if (receiver.retryAfter !== null) response.setHeader('retry-after', receiver.retryAfter);
      response.writeHead(receiver.status).end('said the receiver');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port }: AddressInfo = Object(server.address());
  receiver.url = `http://127.0.0.1:${port}/hook`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}

export const RULE: Omit<RuleRequest, 'channel_id' | 'name'> = {
  is_enabled: true,
  conditions: {
    ...{
      event_types: ['update_failed'],
      minimum_severity: 'warning',
      groups: [],
      ecosystems: [],
      exploited_only: false,
    },
  },
  quiet_hours: null,
  mode: { kind: 'at_once', batch_seconds: 0 },
};

/** Notifications on a real database, with channels that lead to real servers. */
export function createNotificationScene(platform: Platform, { base = 'https://tidegate.example' } = {}) {
  const destinations = createDestinations(['127.0.0.1']);
  const dispatcher = createOutgoing({ destinations });
  onTestFinished(() => dispatcher.destroy());
  const deps: NotificationDeps = {
    ...{ platform, channelKey: Buffer.alloc(32, 7), send: sendMessage, base },
    outgoing: { dispatcher, destinations, ca: null },
  };
  const { signal } = new AbortController();
  const names = { channels: 0, rules: 0 };

  return {
    deps,
    signal,
    async channel(url: string, name = `Channel ${++names.channels}`): Promise<string> {
      const config = { kind: 'webhook' as const, url, allow_http: true };
      const request = { name, is_enabled: true, config };
      return (await addChannel(deps, { request, actor: 'ada' })).id;
    },
    async rule(channelId: string, given: Partial<RuleRequest> = {}): Promise<string> {
      const request = { ...RULE, name: `Rule ${++names.rules}`, channel_id: channelId, ...given };
      return (await addRule(platform, { request, actor: 'ada' })).id;
    },
    async event(
      given: {
        type?: SystemEventType;
        severity?: Severity;
        agentId?: string | null;
        content?: Record<string, unknown>;
        count?: number;
      } = {},
    ): Promise<void> {
      const { type = 'update_failed', severity = 'error', agentId = null, content = {}, count = 1 } = given;
      await platform.database.transact(async (tx) => {
        for (let i = 0; i < count; i += 1) {
          const about = { ...content, number: i };
          const event = {
            kind: 'system',
            type,
            severity,
            component: 'test',
            agentId,
            content: about,
          } as const;
          await appendEvent(tx, platform, event);
        }
      });
    },
    take: (looks = new Map()) => takeEvents(deps, looks),
    deliver: (channelId: string) => deliverNext(deps, { channelId, signal }),
    deliveries: () =>
      platform.database.read.selectFrom('notification_deliveries').selectAll().orderBy('id').execute(),
    events: async (type: string) => {
      const query = platform.database.read.selectFrom('events').selectAll().where('type', '=', type);
      return (await query.orderBy('position').execute()).map(({ content }) => JSON.parse(content));
    },
  };
}
