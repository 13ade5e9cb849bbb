import { describe, expect, test } from 'vitest';
import { chooseProxy, shownProxy } from './proxy-route.ts';

const PROXY = 'http://proxy.test:3128';

test.each<[string, Record<string, string>, string]>([
  ['https://t.test', {}, 'direct: no variable'],
  ['https://t.test', { HTTPS_PROXY: PROXY }, 'HTTPS_PROXY http://proxy.test:3128/'],
  [
    'https://t.test',
    { https_proxy: 'http://small.test', HTTPS_PROXY: PROXY },
    'https_proxy http://small.test/',
  ],
  ['https://t.test', { https_proxy: ' ', HTTPS_PROXY: PROXY }, 'HTTPS_PROXY http://proxy.test:3128/'],
  ['https://t.test', { HTTP_PROXY: PROXY }, 'direct: no variable'],
  ['http://t.test', { HTTP_PROXY: PROXY }, 'HTTP_PROXY http://proxy.test:3128/'],
  ['http://t.test', { ALL_PROXY: PROXY }, 'ALL_PROXY http://proxy.test:3128/'],
  ['https://t.test', { HTTPS_PROXY: 'proxy.test:3128' }, 'HTTPS_PROXY http://proxy.test:3128/'],
  ['https://t.test', { HTTPS_PROXY: 'http://u:p@proxy.test' }, 'HTTPS_PROXY http://u:p@proxy.test/'],
  ['https://t.test', { HTTPS_PROXY: 'socks5://proxy.test' }, 'HTTPS_PROXY is invalid'],
  ['https://t.test', { HTTPS_PROXY: 'http://' }, 'HTTPS_PROXY is invalid'],
  ['https://localhost', { HTTPS_PROXY: PROXY }, 'direct: this machine'],
  ['http://127.8.9.1:80', { ALL_PROXY: PROXY }, 'direct: this machine'],
  ['http://[::1]:80', { ALL_PROXY: PROXY }, 'direct: this machine'],
])('%s with %j: %s', (url, env, said) => {
  const route = chooseProxy(new URL(url), env);
  const text = {
    direct: () => (route.kind === 'direct' ? `direct: ${route.why}` : ''),
    proxy: () => (route.kind === 'proxy' ? `${route.variable} ${route.url}` : ''),
    invalid: () => (route.kind === 'invalid' ? `${route.variable} is invalid` : ''),
  }[route.kind]();
  expect(text).toBe(said);
});

describe('NO_PROXY', () => {
  test.each([
    ['https://t.test', 't.test', true],
    ['https://t.test', 'a.test, t.test', true],
    ['https://t.test', 'T.TEST', true],
    ['https://T.test', '.test', true],
    ['https://a.t.test', 't.test', true],
    ['https://a.t.test', '*.t.test', true],
    ['https://t.test.', 't.test', true],
    ['https://at.test', 't.test', false],
    ['https://t.test.evil', 't.test', false],
    ['https://t.test', '*', true],
    ['https://t.test', 't.test:443', true],
    ['https://t.test', 't.test:8443', false],
    ['https://t.test:8443', 't.test:8443', true],
    ['https://10.1.2.3', '10.0.0.0/8', true],
    ['https://11.1.2.3', '10.0.0.0/8', false],
    ['https://11.1.2.3', '0.0.0.0/0', true],
    ['https://10.1.2.3', '10.1.2.3/33', false],
    ['https://[fd00::1]', 'fd00::1', true],
    ['https://[fd00::1]:444', '[fd00::1]:444', true],
    ['https://[fd00::1]', '[fd00::1]:444', false],
    ['https://t.test', ' , ,', false],
  ])('%s with %j is called directly: %s', (url, NO_PROXY, isDirect) => {
    expect(chooseProxy(new URL(url), { HTTPS_PROXY: PROXY, NO_PROXY }).kind === 'direct').toBe(isDirect);
  });
});

test('a proxy is shown without its password', () => {
  expect(shownProxy('http://user:secret@proxy.test:3128/path')).toBe('http://proxy.test:3128');
});
