import { expect, test } from 'vitest';
import { type Answer, hostileMessage, startReceiver } from '../../testing/receiving-server.ts';
import type { Channel } from './message.ts';
import { sendMessage } from './send-message.ts';

const BOT = `123456:${'Ab-_'.repeat(9)}`;
const LINK = hostileMessage([]).link ?? 'none';

/** What a service was sent for hosts of these names. */
async function sentTo(
  channelAt: (origin: string) => Pick<Channel, 'config' | 'secret'>,
  names: readonly string[],
  answer: Answer = { status: 200 },
) {
  const { origin, received, deps } = await startReceiver(() => answer);
  const channel = { id: 'a', name: 'a', ...channelAt(origin) };
  const outcome = await sendMessage(channel, hostileMessage(names), deps);
  const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '{}' }] = received;
  return { outcome, method, path, headers, json: JSON.parse(body), size: Buffer.byteLength(body) };
}

const slack = (origin: string) =>
  ({ config: { kind: 'slack' }, secret: `${origin}/services/T1/B2/s3cretpart` }) as const;
const teams = (origin: string) =>
  ({ config: { kind: 'teams' }, secret: `${origin}/workflows/1?sig=s3cretpart` }) as const;
const discord = (origin: string) =>
  ({ config: { kind: 'discord' }, secret: `${origin}/api/webhooks/1/s3cretpart` }) as const;
const ntfy = (origin: string) =>
  ({ config: { kind: 'ntfy', server: origin, topic: 'fleet' }, secret: 'tk_s3cretpart' }) as const;
const matrix = (origin: string) =>
  ({
    config: { kind: 'matrix', server: `${origin}/`, room: '!a/b:example.org' },
    secret: 's3cretpart',
  }) as const;
const telegram = (origin: string) =>
  ({ config: { kind: 'telegram', server: origin, chat: '-1001' }, secret: BOT }) as const;
const CHATS: readonly [string, (origin: string) => Pick<Channel, 'config' | 'secret'>][] = [
  ['Slack', slack],
  ['Teams', teams],
  ['Discord', discord],
  ['Telegram', telegram],
  ['Matrix', matrix],
  ['ntfy', ntfy],
];

test('Slack: text of hosts is plain, and only the link of the server is markup', async () => {
  const { outcome, path, json } = await sentTo(slack, ['<!channel> & co', '<http://evil|x>'], {
    status: 200,
    body: 'ok',
  });
  expect(outcome).toEqual({ kind: 'delivered', answer: '200: ok' });
  expect(path).toBe('/services/T1/B2/s3cretpart');
  expect(json).toMatchObject({ text: 'Fix waits for &lt;!channel&gt; &amp; co', mrkdwn: false });
  expect(json.blocks.map(({ text }: { text: { type: string } }) => text.type)).toEqual([
    'plain_text',
    'plain_text',
    'mrkdwn',
  ]);
  expect(json.blocks[1].text.text).toContain('• &lt;http[:]//evil|x&gt;');
  expect(json.blocks[2].text.text).toBe(`<${LINK}|Open in Tidegate>`);
});

test('Teams: text of hosts is in runs without markup', async () => {
  const { json } = await sentTo(
    teams,
    ['[x](http://evil)', '{{DATE(2026-01-01T00:00:00Z)}}', '{{{DATE(1)}}}'],
    {
      status: 202,
    },
  );
  const { contentType, content } = json.attachments[0];
  expect([json.type, contentType]).toEqual(['message', 'application/vnd.microsoft.card.adaptive']);
  expect(new Set(content.body.map(({ type }: { type: string }) => type))).toEqual(new Set(['RichTextBlock']));
  expect(JSON.stringify(content.body)).toContain('• [x](http[:]//evil)');
  expect(JSON.stringify(content.body)).not.toContain('{{');
  expect(content.actions).toEqual([{ type: 'Action.OpenUrl', title: 'Open in Tidegate', url: LINK }]);
});

test('Discord: Markdown is escaped, and nobody is mentioned', async () => {
  const { path, json } = await sentTo(discord, ['[x](http://evil)', '@everyone <@1> `a` **b**']);
  expect(path).toBe('/api/webhooks/1/s3cretpart?wait=true');
  expect(json.allowed_mentions).toEqual({ parse: [] });
  expect(json.content).toContain('\\[x\\]\\(http\\[\\:\\]//evil\\)');
  expect(json.content).toContain('@\u200beveryone \\<@\u200b1\\> \\`a\\` \\*\\*b\\*\\*');
  expect(json.content.endsWith(`\n\n${LINK}`)).toBe(true);
});

test('Telegram: there is no markup, and nobody is mentioned', async () => {
  const { path, json } = await sentTo(telegram, ['@admin', '<b>x</b> [x](http://evil)']);
  expect(path).toBe(`/bot${BOT}/sendMessage`);
  expect(json).toMatchObject({ chat_id: '-1001', link_preview_options: { is_disabled: true } });
  expect(json).not.toHaveProperty('parse_mode');
  expect(json.text).toContain('• @\u200badmin\n• <b>x</b> [x](http[:]//evil)');
});

test('Matrix: the transaction is the message, and the text is plain', async () => {
  const { method, path, headers, json } = await sentTo(matrix, ['@room', '<b>x</b>']);
  expect([method, path]).toEqual([
    'PUT',
    '/_matrix/client/v3/rooms/!a%2Fb%3Aexample.org/send/m.room.message/01920000-0000-7000-8000-000000000001',
  ]);
  expect(headers.authorization).toBe('Bearer s3cretpart');
  expect(json).toMatchObject({ msgtype: 'm.text', 'm.mentions': {} });
  expect(json).not.toHaveProperty('formatted_body');
});

test('ntfy: the text is plain, critical is urgent, and a tap opens the set', async () => {
  const { method, path, headers, json } = await sentTo(ntfy, ['**x**']);
  expect([method, path, headers.authorization]).toEqual(['POST', '/', 'Bearer tk_s3cretpart']);
  expect(json).toMatchObject({ topic: 'fleet', title: 'Fix waits for **x**', priority: 5, click: LINK });
  expect(json).not.toHaveProperty('markdown');
});

test.each(CHATS)(
  '%s: no address in a name is one that a reader would follow, and the link of the server is',
  async (_, channelAt) => {
    const { json } = await sentTo(channelAt, [
      'https://evil.example/login',
      'www.evil.example',
      'evil.example/login?next=1',
      'evil.example:8443/login',
    ]);
    const texts = textsIn(json).map((text) => text.replaceAll('\\', '').replaceAll(LINK, ''));
    for (const text of texts) expect(text).not.toMatch(/:\/\/|www\.|evil\.example[:/]/);
    expect(texts.join('\n')).toContain('https[:]//evil[.]example/login');
    expect(JSON.stringify(json)).toContain(LINK);
  },
);

/** Every text of an answer that is shown. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('http://adaptivecards.io/') ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

const many = Array.from({ length: 100 }, () => `${'*@<ä😀'.repeat(60)}`);
test.each([
  [
    'Slack',
    slack,
    (json: { blocks: { text: { text: string } }[] }) =>
      Math.max(...json.blocks.slice(1).map((b) => b.text.text.length)),
    3_000,
  ],
  ['Discord', discord, (json: { content: string }) => json.content.length, 2_000],
  ['Telegram', telegram, (json: { text: string }) => json.text.length, 4_096],
  ['ntfy', ntfy, (json: { message: string }) => Buffer.byteLength(json.message), 4_096],
  ['Matrix', matrix, (json: { body: string }) => Buffer.byteLength(json.body), 60_000],
  ['Teams', teams, (json: unknown) => Buffer.byteLength(JSON.stringify(json)), 28_000],
] as const)(
  '%s: a long message stays within the limit of the service, and says how much is missing',
  async (_, channelAt, lengthOf, max) => {
    const { json } = await sentTo(channelAt, many);
    expect(lengthOf(json)).toBeLessThanOrEqual(max);
    expect(JSON.stringify(json)).toMatch(/… and \d+ more/);
  },
);

test.each<[string, (origin: string) => Pick<Channel, 'config' | 'secret'>, Answer, object]>([
  [
    'Matrix',
    matrix,
    { status: 429, body: '{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":2000}' },
    { isPermanent: false, retryAfterMs: 2_000 },
  ],
  [
    'Telegram',
    telegram,
    { status: 429, body: '{"ok":false,"parameters":{"retry_after":7}}' },
    { isPermanent: false, retryAfterMs: 7_000 },
  ],
  [
    'Slack',
    slack,
    { status: 429, headers: { 'retry-after': '30' } },
    { isPermanent: false, retryAfterMs: 30_000 },
  ],
  [
    'Discord',
    discord,
    { status: 404, body: '{"message":"Unknown Webhook"}' },
    { isPermanent: true, retryAfterMs: null },
  ],
])('%s: how long to wait is read from its answer', async (_, channelAt, answer, expected) => {
  expect((await sentTo(channelAt, ['a'], answer)).outcome).toMatchObject(expected);
});

test.each(CHATS)('%s: an answer that repeats the request shows no secret', async (_, channelAt) => {
  const { origin, deps } = await startReceiver(({ path, headers }) => ({
    status: 403,
    body: `${path} ${headers.authorization} https://${headers.host}${path}`,
  }));
  const outcome = await sendMessage(
    { id: 'a', name: 'a', ...channelAt(origin) },
    hostileMessage(['a']),
    deps,
  );
  expect(outcome).toMatchObject({ kind: 'failed', isPermanent: true });
  expect(JSON.stringify(outcome)).not.toMatch(/s3cretpart|Ab-_Ab/);
});
