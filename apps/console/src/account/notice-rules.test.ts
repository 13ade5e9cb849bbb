import { NOTICE_KINDS } from '@tidegate/protocol/notices-api';
import { expect, test } from 'vitest';
import { noticeOrigin, noticeText } from './notice-rules.ts';

test('every kind of notice has its own sentence', () => {
  const texts = NOTICE_KINDS.map((kind) => noticeText({ kind, subject: 'laptop' }));
  expect(new Set(texts).size).toBe(NOTICE_KINDS.length);
});

test.each([
  ['sessions_ended', '1', '1 session was ended'],
  ['sessions_ended', '3', '3 sessions were ended'],
  ['api_tokens_ended', '1', '1 API token was revoked'],
  ['passkey_added', 'my laptop', 'The passkey my laptop was added'],
] as const)('%s of %s reads: %s', (kind, subject, text) => {
  expect(noticeText({ kind, subject })).toBe(text);
});

test.each([
  [{ actor: 'anna', address: '192.0.2.7' }, 'by you, from 192.0.2.7'],
  [{ actor: 'root', address: '192.0.2.7' }, 'by root, from 192.0.2.7'],
  [{ actor: 'cli', address: null }, "by cli, on the server's machine"],
])('the origin of %j reads: %s', (notice, text) => {
  expect(noticeOrigin(notice, 'anna')).toBe(text);
});
