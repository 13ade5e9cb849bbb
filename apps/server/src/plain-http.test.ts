import { expect, test } from 'vitest';
import { type Config, defaultConfig } from './config.ts';
import { plainHttpFault } from './plain-http.ts';

test.each<[string, Partial<Config>, boolean]>([
  ['localhost', {}, true],
  ['127.0.0.1', {}, true],
  ['127.8.9.1', {}, true],
  ['::1', {}, true],
  ['::ffff:127.0.0.1', {}, true],
  ['0.0.0.0', {}, false],
  ['::', {}, false],
  ['192.0.2.1', {}, false],
  ['::ffff:192.0.2.1', {}, false],
  ['localhost.example', {}, false],
  ['tidegate.example', {}, false],
  ['0.0.0.0', { tlsCert: 'pem', tlsKey: 'pem' }, true],
  ['0.0.0.0', { acmeDomains: ['tidegate.example'] }, true],
  ['0.0.0.0', { trustedProxies: ['10.0.0.1'] }, true],
  ['0.0.0.0', { allowPlainHttp: true }, true],
  ['0.0.0.0', { baseUrl: 'https://tidegate.example' }, false],
])('on %s with %j: %s', (host, given, isAllowed) => {
  const fault = plainHttpFault(defaultConfig({ ...given, host }));
  if (isAllowed) expect(fault).toBe(null);
  else {
    expect(fault).toContain(`SERVICE_HOST is "${host}"`);
    for (const way of [
      'SERVICE_TLS_CERT',
      'SERVICE_ACME_DOMAINS',
      'SERVICE_TRUSTED_PROXIES',
      'SERVICE_ALLOW_PLAIN_HTTP=true',
    ]) {
      expect(fault).toContain(way);
    }
  }
});
