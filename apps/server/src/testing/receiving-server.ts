import { createAuthority, type TestAuthority, type TestPair } from '@tidegate/testkit/certificates';
import { readBody } from '@tidegate/testkit/loopback';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { onTestFinished } from 'vitest';
import type { Message, SenderDeps } from '../notifications/channels/message.ts';
import { createDestinations } from '../platform/destinations.ts';
import { createOutgoing } from '../platform/outgoing.ts';

export const SENT_AT_MS = Date.UTC(2026, 10, 28, 9, 30);

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

let authority: Promise<TestAuthority> | null = null;

/** The authority that the senders of a test trust, and its certificate for localhost. */
export async function localCertificate(): Promise<{ ca: string; pair: TestPair }> {
  authority ??= createAuthority();
  const issuer = await authority;
  return { ca: issuer.cert, pair: await issuer.issue(['localhost']) };
}

/** An HTTPS server at `origin` that keeps what it was sent, and answers as the test says. */
export async function startReceiver(answerTo: (received: Received) => Answer = () => ({ status: 200 })) {
  const { ca, pair } = await localCertificate();
  const received: Received[] = [];
  const server = await listenWithTls(pair, async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const one = { method, path, headers, body: (await readBody(request, 1_000_000)) ?? '' };
    received.push(one);
    const answer = answerTo(one);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  onTestFinished(server.stop);
  return { origin: `https://localhost:${server.port}`, received, deps: senderDeps(ca) };
}

/** What a sender is given; `networks`: the private ones that it may reach. */
export function senderDeps(ca: string | null, networks: readonly string[] = ['127.0.0.1']): SenderDeps {
  const destinations = createDestinations(networks);
  const dispatcher = createOutgoing({ destinations, ca }, {});
  onTestFinished(() => dispatcher.close());
  const { signal } = new AbortController();
  return { outgoing: { dispatcher, destinations, ca }, now: () => SENT_AT_MS, signal };
}

/** A message about hosts whose names try to act as markup. */
export function hostileMessage(names: readonly string[]): Message {
  return {
    id: '01920000-0000-7000-8000-000000000001',
    subject: `Fix waits for ${names[0]}`,
    severity: 'critical',
    at: '2026-11-28T09:29:00Z',
    summary: `An exploited fix waits on ${names.length} hosts.`,
    sections: [{ title: 'Hosts', items: names.map((text) => ({ text, link: null })) }],
    link: 'https://tidegate.example/notices/01920000-0000-7000-8000-000000000001',
    payload: { hosts: names },
  };
}
