import { expect, test } from 'vitest';
import { defaultConfig } from '../config.ts';
import { judgeProxy } from './doctor-proxy.ts';

test('without a proxy there is nothing to say', () => {
  expect(judgeProxy(defaultConfig({}), {})).toEqual([]);
});

test('a proxy is named without its password, and a wrong variable is a fault', () => {
  const env = { HTTPS_PROXY: 'http://user:secret@p.test:3128', NO_PROXY: 'pypi.org' };
  expect(judgeProxy(defaultConfig({}), env)).toEqual([
    { check: 'proxy', level: 'ok', detail: '3 of 4 sources through http://p.test:3128' },
  ]);
  const acme = { ...defaultConfig({}), acmeDomains: ['updates.example.org'] };
  expect(judgeProxy(acme, env)).toMatchObject([{ detail: '4 of 5 sources through http://p.test:3128' }]);
  const [finding] = judgeProxy(defaultConfig({}), { HTTPS_PROXY: 'socks5://user:secret@p.test' });
  expect(finding).toMatchObject({ level: 'fail', detail: expect.stringMatching(/^HTTPS_PROXY names no/) });
  expect(JSON.stringify(finding)).not.toContain('secret');
});
