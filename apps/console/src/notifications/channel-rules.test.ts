import { ChannelRequest } from '@tidegate/protocol/notifications-api';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { KIND_KEYS, requestOf, SECRETS, targetText } from './channel-rules.ts';

/** A form as it is filled in for any kind. */
const FORM: Readonly<Record<string, string>> = {
  ...{ name: ' Ops ', url: 'https://hooks.example.org/x', allow_http: '', secret: 's3cret' },
  ...{ host: 'mail.example.org', port: '587', tls: 'starttls', user: '', from: 'a@example.org' },
  ...{ to: 'b@example.org\n c@example.org, b@example.org', server: 'https://s.example.org', topic: 'fleet' },
  ...{ room: '!a:example.org', chat: '-100' },
};
const text = (name: string) => FORM[name] ?? '';

test.each(KIND_KEYS)('the form of %s makes a request that the protocol takes', (kind) => {
  const request = requestOf(kind, { text, isEnabled: true });
  expect(Value.Errors(ChannelRequest, request)).toEqual([]);
  expect(request).toMatchObject({ name: 'Ops', is_enabled: true, config: { kind }, secret: 's3cret' });
  expect(targetText(request.config)).not.toContain('s3cret');
});

test('an empty secret is left out, so that the stored one stays', () => {
  const request = requestOf('slack', {
    text: (name) => (name === 'secret' ? '' : text(name)),
    isEnabled: true,
  });
  expect(request).not.toHaveProperty('secret');
});

test('recipients are one a line or separated by commas, each once; no user means no login', () => {
  expect(requestOf('smtp', { text, isEnabled: false })).toMatchObject({
    is_enabled: false,
    config: { to: ['b@example.org', 'c@example.org'], user: null, port: 587, tls: 'starttls' },
  });
});

test('http:// is allowed only where the box is checked', () => {
  const checked = (name: string) => (name === 'allow_http' ? 'on' : text(name));
  expect(requestOf('ntfy', { text, isEnabled: true }).config).not.toHaveProperty('allow_http');
  expect(requestOf('ntfy', { text: checked, isEnabled: true }).config).toMatchObject({ allow_http: true });
});

test('only a webhook has no secret to enter', () => {
  expect(KIND_KEYS.filter((kind) => SECRETS[kind] === null)).toEqual(['webhook']);
});
