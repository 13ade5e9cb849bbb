import { expect, test } from 'vitest';
import { proxyOption, proxyVariables } from './proxy.ts';

test('fetch is told the proxy, or that there is none', () => {
  const env = { HTTPS_PROXY: 'http://p.test:3128', NO_PROXY: 'near.test' };
  expect(proxyOption('https://far.test/x', env)).toEqual({ proxy: 'http://p.test:3128/' });
  expect(proxyOption('https://near.test/x', env)).toEqual({ proxy: false });
  expect(proxyOption('http://127.0.0.1:8080', { ALL_PROXY: 'http://p.test' })).toEqual({ proxy: false });
  expect(proxyOption('https://far.test', { HTTPS_PROXY: 'socks5://p.test' })).toBeNull();
});

test('a package manager gets the variables that are set, and this machine as an exception', () => {
  expect(proxyVariables({ PATH: '/bin', HTTPS_PROXY: ' ', TIDEGATE_TOKEN: 't' })).toEqual({});
  const given = { PATH: '/bin', HTTPS_PROXY: 'http://p.test', NO_PROXY: 'near.test', TIDEGATE_TOKEN: 't' };
  const all = 'near.test,localhost,127.0.0.1,::1';
  expect(proxyVariables(given)).toEqual({ HTTPS_PROXY: 'http://p.test', NO_PROXY: all, no_proxy: all });
});
