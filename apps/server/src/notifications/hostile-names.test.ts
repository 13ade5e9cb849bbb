import { expect, test } from 'vitest';
import { startMailServer } from '../testing/mail-server.ts';
import { outsideIsolates, TURNING } from '../testing/outside-isolates.ts';
import { senderDeps } from '../testing/receiving-server.ts';
import type { Message } from './channels/message.ts';
import { sendMail } from './channels/smtp.ts';
import { describeEvents, eventPayload } from './compose-rules.ts';
import type { KnownEvent } from './match-rules.ts';

const RIGHT_TO_LEFT = 'שלום';
/** A mark turns what follows it in the whole line, and a lone end would close what somebody else opened. */
const MARKED = `\u202e${RIGHT_TO_LEFT}\u2069 https://evil.example/login <img src=x onerror="alert(1)">`;

function eventOf(over: Partial<KnownEvent>): KnownEvent {
  return {
    ...{ id: '01920000-0000-7000-8000-000000000002', position: 1, severity: 'error', atMs: 0 },
    ...{ type: 'update_failed', actor: null, host: null, content: {} },
    ...over,
  };
}

const host = { id: 'h', name: MARKED, group: null };
const named = { ecosystem: 'apt', name: RIGHT_TO_LEFT, version: `1${RIGHT_TO_LEFT}` };
const EVENTS = [
  eventOf({ host, content: { updates: [{ package: named }], update_count: 3, reason: MARKED } }),
  eventOf({ type: 'HOST_GROUP_CHANGED', actor: MARKED, host, content: { before: MARKED, after: MARKED } }),
  eventOf({
    type: 'OPERATOR_CHANGED',
    actor: RIGHT_TO_LEFT,
    content: { change: 'deleted', username: MARKED },
  }),
  eventOf({
    type: 'bulk_approval_asked',
    actor: MARKED,
    content: { update_count: 2, filter: `name:${MARKED}` },
  }),
  eventOf({
    type: 'hold_placed',
    actor: MARKED,
    content: { packages: [MARKED, RIGHT_TO_LEFT], reason: MARKED },
  }),
  eventOf({ type: 'AGENT_ERROR', host, content: { message: `${MARKED} `.repeat(200) } }),
];

test('what a receiver of webhooks shows is one line, without characters that nobody sees', () => {
  const unseen = 'a\r\nBcc: x\u200b\u2028\ufeff\u{e0041}\u0000b';
  const event = eventOf({
    type: 'AGENT_ERROR',
    host: { ...host, name: unseen },
    content: { message: unseen },
  });
  const { subject } = describeEvents([event], { base: null });
  for (const text of [subject, eventPayload(event).text]) {
    expect(text).toContain('a Bcc: x b');
    expect(text).not.toMatch(/(?![\u2068\u2069])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  }
});

test.each([
  ['one event', EVENTS.slice(0, 1)],
  ['many events', EVENTS],
])('a mail about %s lets no name turn what stands around it', async (_, events) => {
  const { ca, mails, port } = await startMailServer();
  const message: Message = {
    ...{ id: '01920000-0000-7000-8000-000000000001', at: '2026-11-28T09:29:00Z', payload: {} },
    ...{ link: 'https://tidegate.example/events', ...describeEvents(events, { base: null }) },
  };
  const config = {
    ...{ kind: 'smtp' as const, host: 'localhost', port, tls: 'starttls' as const, user: 'tidegate' },
    ...{ from: 'tidegate@example.org', to: ['ops@example.org'] },
  };
  const secret = { secret: 'hunter2', message };
  expect(await sendMail(config, secret, senderDeps(ca))).toMatchObject({ kind: 'delivered' });
  const { subject = '', text = '', html } = mails[0]?.email ?? {};
  expect(html).toBeUndefined();
  expect(subject).toContain(RIGHT_TO_LEFT);
  const items = text.split('\n').filter((line) => line.startsWith('•'));
  expect(items).toHaveLength(events.length);
  for (const line of [subject, ...text.split('\n')]) expect(outsideIsolates(line)).not.toMatch(TURNING);
  for (const line of items) expect(line).toContain(RIGHT_TO_LEFT);
  expect(`${subject}${text}`).not.toContain('\u202e');
  expect(text.match(/https?:\/\/\S+/g)).toEqual(['https://tidegate.example/events']);
});
