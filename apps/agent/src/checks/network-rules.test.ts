import { chooseProxy } from '@tidegate/protocol/proxy-route';
import { expect, test } from 'vitest';
import {
  adviseConnection,
  adviseName,
  adviseTunnel,
  judgeCertificate,
  judgeProxy,
  judgeSkew,
} from './network-rules.ts';

const NOW = Date.UTC(2026, 10, 21, 9);
const DAY_MS = 86_400_000;
const level = ({ ok, isDoubtful }: { ok: boolean; isDoubtful?: true }) =>
  ok ? (isDoubtful ? 'warn' : 'ok') : 'fail';

test.each<[Record<string, string>, string, RegExp]>([
  [{}, 'ok', /^none for t\.test \(no variable\)$/],
  [{ NO_PROXY: 't.test', HTTPS_PROXY: 'p.test' }, 'ok', /^none for t\.test \(NO_PROXY\)$/],
  [
    { HTTPS_PROXY: 'http://u:secret@p.test:3128' },
    'ok',
    /^t\.test is reached through http:\/\/p\.test:3128 \(HTTPS_PROXY\)$/,
  ],
  [{ HTTP_PROXY: 'http://p.test' }, 'warn', /set HTTPS_PROXY as well/],
  [{ HTTPS_PROXY: 'socks://u:secret@p.test' }, 'fail', /^HTTPS_PROXY names no .*: correct it/],
])('proxy settings %j are: %s', (env, expected, said) => {
  const url = new URL('https://t.test');
  const finding = judgeProxy(url, chooseProxy(url, env), env.HTTP_PROXY !== undefined);
  expect([level(finding), finding.detail]).toEqual([expected, expect.stringMatching(said)]);
  expect(finding.detail).not.toContain('secret');
});

test.each<[string | null, number, string, RegExp]>([
  [null, 15, 'ok', /valid until 2026-12-06/],
  [null, 14, 'warn', /expires on 2026-12-05, in 14 days: renew it/],
  [null, 0, 'fail', /expired on 2026-11-21: renew it on the server, or correct/],
  ['CERT_HAS_EXPIRED', 9, 'fail', /renew it/],
  ['CERT_NOT_YET_VALID', 9, 'fail', /clock is probably behind/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 99, 'fail', /NODE_EXTRA_CA_CERTS/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 99, 'fail', /whole chain/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 99, 'fail', /another name/],
  ['SOMETHING_NEW', 99, 'fail', /not trusted \(SOMETHING_NEW\)/],
])('a certificate with the fault %s and %i days left is: %s %s', (distrust, days, expected, said) => {
  const finding = judgeCertificate(
    { distrust, validToMs: NOW + days * DAY_MS },
    { nowMs: NOW, isOwnCa: false },
  );
  expect([level(finding), finding.detail]).toEqual([expected, expect.stringMatching(said)]);
});

test.each([
  ['the same second', 900, 0, 'ok'],
  ['a slow answer', 29_000, 28_000, 'ok'],
  ['ahead by half a minute', 32_000, 0, 'warn'],
  ['behind by half a minute', -32_000, 0, 'warn'],
  ['ahead by five minutes', 302_000, 0, 'fail'],
  ['behind by five minutes', -302_000, 0, 'fail'],
])('T16: a clock that is %s: %s', (_, aheadMs, tookMs, expected) => {
  const finding = judgeSkew({ serverMs: NOW, nowMs: NOW + aheadMs, tookMs });
  expect(level(finding)).toBe(expected);
  if (expected !== 'ok')
    expect(finding.detail).toMatch(aheadMs > 0 ? /ahead of .*set the clock/ : /behind .*set the clock/);
  // A host that is behind goes by the times that the server signs.
  expect(finding.detail.includes('commands would be refused')).toBe(expected === 'fail' && aheadMs > 0);
});

test('every failure of the way says what to do', () => {
  const codes = [
    'ECONNREFUSED',
    'ETIMEDOUT',
    'TIMEOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ECONNRESET',
    'EPIPE',
  ];
  for (const code of codes) expect(adviseConnection(code, 't.test:443')).toMatch(/check|needed/);
  expect(adviseConnection('EODD', 't.test:443')).toBe('t.test:443 cannot be connected to (EODD)');
  expect(adviseName('ENOTFOUND', 't.test')).toMatch(/check its spelling/);
  expect(adviseName('EAI_AGAIN', 't.test')).toMatch(/EAI_AGAIN.*resolv\.conf/);
  expect(adviseTunnel(407, 'p')).toMatch(/wants a user name/);
  expect(adviseTunnel(403, 'p')).toMatch(/forbids/);
  expect(adviseTunnel(502, 'p')).toMatch(/status 502/);
});
