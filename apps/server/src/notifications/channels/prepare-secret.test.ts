import type { ChannelConfig } from '@tidegate/protocol/notification-channels';
import { expect, test } from 'vitest';
import { prepareSecret } from './prepare-secret.ts';

const random = (bytes: number) => Buffer.alloc(bytes, 7);
const BOT = `123:${'a'.repeat(35)}`;
const smtp = {
  ...{ kind: 'smtp', host: 'mail.example', port: 465, tls: 'implicit', user: 'tidegate' },
  ...{ from: 'tidegate@example.org', to: ['ops@example.org'] },
} as const satisfies ChannelConfig;
const ntfy = { kind: 'ntfy', server: 'https://ntfy.example', topic: 'tidegate' } as const;
const matrix = { kind: 'matrix', server: 'https://matrix.example', room: '!a:example' } as const;
const telegram = { kind: 'telegram', server: 'https://api.telegram.org', chat: '-100' } as const;
const webhook = { kind: 'webhook', url: 'https://hooks.example/tidegate' } as const;

function prepare(
  config: ChannelConfig,
  given: string | null,
  kept: { config: ChannelConfig; secret: string | null } | null = null,
) {
  const prepared = prepareSecret({ config, given, kept, random });
  return prepared.ok ? prepared.secret : `${prepared.fault.path} ${prepared.fault.message}`;
}

test.each<[string, ChannelConfig, string | null, string | null | RegExp]>([
  ['a mail server with a login', smtp, 'hunter2', 'hunter2'],
  ['a mail server without one', { ...smtp, user: null, tls: 'none' }, null, null],
  ['a login without a password', smtp, null, /^\/secret must be the password/],
  ['a password without a login', { ...smtp, user: null }, 'hunter2', /^\/secret must be null/],
  ['a password in the clear', { ...smtp, tls: 'none' }, 'hunter2', /^\/config\/tls must not be none/],
  ['an open topic of ntfy', ntfy, null, null],
  ['a token with a line break', ntfy, 'tk_a\r\nX: y', /^\/secret must be an access token/],
  ['http://', { ...ntfy, server: 'http://ntfy.example' }, null, /^\/config\/server must begin with https/],
  ['http:// where it is allowed', { ...ntfy, server: 'http://ntfy.example', allow_http: true }, null, null],
  [
    'a URL with a password',
    { ...webhook, url: 'https://a:b@hooks.example' },
    null,
    /^\/config\/url must have no user/,
  ],
  ['a URL without a host', { ...webhook, url: 'https://%zz/' }, null, /^\/config\/url must be a URL/],
  ['a homeserver without a token', matrix, null, /^\/secret must be an access token/],
  ['a bot', telegram, BOT, BOT],
  ['a path in place of a bot', telegram, '../x', /^\/secret must be the token of a bot/],
  ['Slack without its URL', { kind: 'slack' }, null, /^\/secret must be the URL/],
  ['Slack over http://', { kind: 'slack' }, 'http://hooks.slack.com/x', /^\/secret must begin with https/],
  [
    'Discord',
    { kind: 'discord' },
    'https://discord.com/api/webhooks/1/x',
    'https://discord.com/api/webhooks/1/x',
  ],
  ['a key for a webhook', webhook, 'mine', /^\/secret must be null/],
])('%s', (_, config, given, expected) => {
  const outcome = prepare(config, given);
  if (expected instanceof RegExp) expect(outcome).toMatch(expected);
  else expect(outcome).toBe(expected);
});

test.each<[string, ChannelConfig, ChannelConfig]>([
  ['host', smtp, { ...smtp, host: 'evil.example' }],
  ['port', smtp, { ...smtp, port: 25 }],
  ['user', smtp, { ...smtp, user: 'other' }],
  ['encryption', smtp, { ...smtp, tls: 'starttls' }],
  ['login', smtp, { ...smtp, user: null, tls: 'none' }],
  ['server', ntfy, { ...ntfy, server: 'https://evil.example' }],
  ['homeserver', matrix, { ...matrix, server: 'https://evil.example' }],
  ['server of the bot', telegram, { ...telegram, server: 'https://evil.example' }],
  ['kind', matrix, { kind: 'slack' }],
])('a stored secret does not follow to another %s', (_, before, after) => {
  expect(prepare(after, null, { config: before, secret: BOT })).toMatch(/^\/secret must be entered again/);
});

test('a stored secret stays where only recipients, topic or room change', () => {
  const kept = (config: ChannelConfig) => ({ config, secret: BOT });
  expect(prepare({ ...smtp, to: ['a@example.org'] }, null, kept(smtp))).toBe(BOT);
  expect(prepare({ ...ntfy, topic: 'other' }, null, kept(ntfy))).toBe(BOT);
  expect(prepare({ ...matrix, room: '!b:example' }, null, kept(matrix))).toBe(BOT);
  expect(prepare({ ...telegram, chat: '1' }, null, kept(telegram))).toBe(BOT);
});

test('the key of a webhook is made by the server, and stays when its URL changes', () => {
  const made = prepareSecret({ config: webhook, given: null, kept: null, random });
  expect(made).toEqual({
    ok: true,
    secret: 'whsk_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=',
    // The public key of the seed 07…07, from OpenSSL.
    receiverKey: 'whpk_6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=',
  });
  const kept = { config: webhook, secret: made.ok ? made.secret : null };
  const other = { ...webhook, url: 'https://other.example/' };
  const random2 = (bytes: number) => Buffer.alloc(bytes, 9);
  expect(prepareSecret({ config: other, given: null, kept, random: random2 })).toEqual(made);
});
