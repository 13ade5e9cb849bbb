import { createAuthority, type TestPair } from '@tidegate/testkit/certificates';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Config, defaultConfig } from '../config.ts';
import { acmeFolder, type StoredFailure } from '../tls/acme/acme-folder.ts';
import { judgeCertificate } from './doctor-certificate.ts';

const NOW = Date.UTC(2026, 10, 21, 9);
const DAY_MS = 86_400_000;
const authority = await createAuthority();
const other = await createAuthority('Another authority');

function issue(names: readonly string[], days: [from: number, until: number] = [-30, 60]): Promise<TestPair> {
  const [fromMs, untilMs] = days.map((day) => NOW + day * DAY_MS);
  return authority.issue(names, { fromMs: fromMs ?? 0, untilMs: untilMs ?? 0 });
}

const given = ({ cert, key }: TestPair, settings: Partial<Config> = {}) =>
  judgeCertificate(defaultConfig({ tlsCert: cert, tlsKey: key, ...settings }), NOW);

test('a server without TLS of its own has no certificate to examine', () => {
  expect(judgeCertificate(defaultConfig(), NOW)).toEqual([]);
});

test.each<[string, [number, number], string, string]>([
  ['in its time', [-30, 60], 'ok', 'valid until 2027-01-20T09:00:00.000Z'],
  ['late to be renewed', [-76, 14], 'warn', 'it expires in 14 days: 2026-12-05T09:00:00.000Z'],
  ['short-lived and in its time', [-2, 4], 'ok', 'valid until 2026-11-25T09:00:00.000Z'],
  ['expired', [-90, 0], 'fail', 'it has expired: 2026-11-21T09:00:00.000Z'],
  ['of the future', [1, 90], 'fail', 'it is not valid before 2026-11-22T09:00:00.000Z'],
])('a certificate that is %s', async (_, days, level, detail) => {
  expect(given(await issue(['tidegate.example'], days))).toMatchObject([
    { check: 'certificate', level, detail },
  ]);
});

test.each([
  ['https://tidegate.example', 'ok'],
  ['https://tidegate.example:8443/', 'ok'],
  ['https://a.fleet.example', 'ok'],
  ['https://192.0.2.7', 'ok'],
  ['http://other.example', 'ok'],
  ['https://other.example', 'fail'],
  ['https://a.b.fleet.example', 'fail'],
  ['https://[2001:db8::7]', 'fail'],
])('its names against SERVICE_BASE_URL=%s: %s', async (baseUrl, level) => {
  const pair = await issue(['tidegate.example', '*.fleet.example', '192.0.2.7']);
  expect(given(pair, { baseUrl })).toMatchObject([{ level }]);
});

test('a chain that does not fit, and several problems at once, are all named', async () => {
  const pair = await issue(['tidegate.example'], [-90, -1]);
  expect(given({ ...pair, cert: pair.cert + authority.cert })).toMatchObject([{ level: 'fail' }]);
  const mixed = { ...pair, cert: pair.cert + other.cert };
  expect(given(mixed, { baseUrl: 'https://other.example' }).map(({ detail }) => detail)).toEqual([
    'it has expired: 2026-11-20T09:00:00.000Z',
    'it is not for other.example, the name in SERVICE_BASE_URL',
    'its chain does not fit: certificate 2 did not sign certificate 1',
  ]);
});

test('a pair that does not fit is named, and no part of the key', async () => {
  const [one, two] = [await issue(['a.example']), await issue(['a.example'])];
  const found = given({ cert: one.cert, key: two.key });
  expect(found).toMatchObject([{ level: 'fail', detail: 'the key does not belong to the certificate' }]);
  expect(JSON.stringify(given({ cert: '/nowhere', key: two.key }))).not.toContain('PRIVATE');
});

describe('with ACME', () => {
  const failure: StoredFailure = {
    ...{ settings: 's', failures: 4, sinceMs: NOW - DAY_MS, lastMs: NOW, retryAtMs: NOW + 3_600_000 },
    ...{ askedUntilMs: null, cause: 'http-01 failed for tidegate.example: refused (connection)' },
  };
  const said =
    'ACME fails since 2026-11-20T09:00:00.000Z, 4 attempts: http-01 failed for tidegate.example: refused (connection); next attempt 2026-11-21T10:00:00.000Z';

  function place() {
    const { path, remove } = tmpDir();
    onTestFinished(remove);
    const config = defaultConfig({ acmeDomains: ['tidegate.example'], dataDir: path });
    return { folder: acmeFolder(path), judge: () => judgeCertificate(config, NOW) };
  }

  test('no certificate yet, and since when it fails', () => {
    const it = place();
    expect(it.judge()).toMatchObject([{ level: 'fail', detail: 'ACME has none yet' }]);
    it.folder.keepFailure(failure);
    expect(it.judge()).toMatchObject([
      { level: 'fail', detail: said, todo: expect.stringContaining('SIGHUP') },
      { level: 'warn', detail: 'ACME has none yet' },
    ]);
  });

  test('a renewal that fails while the old certificate is valid is a warning', async () => {
    const it = place();
    const pair = await issue(['tidegate.example']);
    it.folder.keepCertificate({ directoryUrl: 'https://acme.example/dir', ...pair });
    expect(it.judge()).toMatchObject([{ level: 'ok', detail: 'valid until 2027-01-20T09:00:00.000Z' }]);
    it.folder.keepFailure({ ...failure, askedUntilMs: NOW + 1 });
    expect(it.judge()).toMatchObject([
      { level: 'warn', detail: said, todo: 'wait: the ACME server asked for this pause' },
      { level: 'ok' },
    ]);
  });
});
