import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '@tidegate/testkit/certificates';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from './config.ts';
import { systemClock } from './platform/clock.ts';
import { type Migration, migrate } from './platform/db/migrate.ts';
import { openSqlite } from './platform/db/sqlite.ts';
import { systemRandom } from './platform/ids.ts';
import { createLog } from './platform/log.ts';
import { type StartOutcome, startServer } from './start.ts';
import { databaseOptions } from './testing/database-options.ts';
import { NO_REGISTRIES_ENV } from './testing/no-registries.ts';
import { presentedOn } from './testing/tls-peer.ts';

/** ACME with a directory where nobody listens. */
const ACME = {
  SERVICE_ACME_DOMAINS: 'tidegate.example',
  SERVICE_ACME_TERMS_AGREED: 'true',
  SERVICE_ACME_DIRECTORY_URL: 'https://127.0.0.1:9/dir',
  SERVICE_ACME_HTTP_PORT: '0',
};
const REPEATED_KEY = 'ab'.repeat(64);
/** The server's alert to a client that speaks only older versions. */
const TOO_OLD = 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION';
const authority = await createAuthority();
const [PAIR, OTHER] = [
  await authority.issue(['tidegate.example']),
  await authority.issue(['tidegate.example']),
];

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tidegate-start-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Starts as main.ts does; the test's end closes what it opened. */
async function start(env: Record<string, string>, format: 'text' | 'json' = 'text') {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format, now: systemClock, write: (line) => lines.push(line) });
  const read = readConfig({
    SERVICE_DATA_DIR: folder(),
    SERVICE_PORT: '0',
    SERVICE_HOST: '127.0.0.1',
    SERVICE_ADVISORY_SOURCE: 'off',
    ...NO_REGISTRIES_ENV,
    SERVICE_ADMIN_USERNAME: 'olga',
    SERVICE_ADMIN_PASSWORD: 'a long enough password',
    ...env,
  });
  const outcome: StartOutcome = read.ok
    ? await startServer(read.config, { log, now: systemClock, random: systemRandom })
    : read;
  if (outcome.ok) onTestFinished(outcome.stop);
  return { outcome, lines };
}

describe('a bad value stops the start with one line that names it and says what is allowed', () => {
  const file = join(tmpdir(), 'tidegate-no-such-file');
  test.each<[string, Record<string, string>]>([
    ['SERVICE_PORT', { SERVICE_PORT: '99999' }],
    ['SERVICE_TRUSTED_PROXIES', { SERVICE_TRUSTED_PROXIES: '10.0.0.0/8,1.2.3.4/99' }],
    ['SERVICE_TRUSTED_PROXIES', { SERVICE_TRUSTED_PROXIES: ':::::' }],
    ['SERVICE_TLS_CERT', { SERVICE_TLS_CERT: file, SERVICE_TLS_KEY: file }],
    ['SERVICE_TLS_KEY', { SERVICE_TLS_CERT: PAIR.cert, SERVICE_TLS_KEY: OTHER.key }],
    ['SERVICE_TLS_KEY', { SERVICE_TLS_CERT: '-----BEGIN X', SERVICE_TLS_KEY: `-----BEGIN ${REPEATED_KEY}` }],
    ['SERVICE_ACME_CA_CERT', { ...ACME, SERVICE_ACME_CA_CERT: file }],
    ['SERVICE_ACME_CA_CERT', { ...ACME, SERVICE_ACME_CA_CERT: '-----BEGIN X' }],
    ['SERVICE_ACME_HTTP_PORT', { ...ACME, SERVICE_HOST: '203.0.113.9' }],
    ['SERVICE_DATA_DIR', { SERVICE_DATA_DIR: '/dev/null' }],
    ['database', { SERVICE_DATABASE_URL: `postgres://u:${REPEATED_KEY}@127.0.0.1:1/x` }],
    ['SERVICE_HOST', { SERVICE_HOST: '203.0.113.9', SERVICE_ALLOW_PLAIN_HTTP: 'true' }],
    ['SERVICE_ALLOW_PLAIN_HTTP', { SERVICE_HOST: '0.0.0.0' }],
    ['SERVICE_TRUSTED_PROXIES', { SERVICE_HOST: '::' }],
    ['SERVICE_SIGNING_PRIVATE_KEY', { SERVICE_SIGNING_PRIVATE_KEY: REPEATED_KEY }],
    ['SERVICE_SIGNING_PRIVATE_KEY', { SERVICE_SIGNING_PRIVATE_KEY: '00'.repeat(64) }],
    ['SERVICE_SIGNING_PREVIOUS_PRIVATE_KEY', { SERVICE_SIGNING_PREVIOUS_PRIVATE_KEY: REPEATED_KEY }],
    ['SERVICE_JWT_SECRET', { SERVICE_JWT_SECRET: 'x'.repeat(31) }],
    ['SERVICE_WORKERS', { SERVICE_WORKERS: '0' }],
    ['SERVICE_WORKERS', { SERVICE_WORKERS: '65' }],
    ['SERVICE_WORKERS', { SERVICE_WORKERS: '1.5' }],
    ['SERVICE_WORKERS', { SERVICE_WORKERS: 'all' }],
    ['SERVICE_WORKERS', { ...ACME, SERVICE_ACME_CHALLENGE: 'tls-alpn-01', SERVICE_WORKERS: '2' }],
    ['SERVICE_JWT_SECRET_FILE', { SERVICE_JWT_SECRET_FILE: file }],
  ])('%s', async (name, env) => {
    const { outcome, lines } = await start(env);
    const fault = outcome.ok ? '' : outcome.fault;
    expect(fault).toContain(name);
    expect(fault).not.toContain('\n');
    if (name !== 'database') expect(fault).toContain('allowed: ');
    expect(fault + lines.join()).not.toContain(REPEATED_KEY);
  });

  test('a data folder whose path is too long for the socket of workers is named', async () => {
    const dataDir = join(folder(), 'x'.repeat(100));
    const { outcome } = await start({ SERVICE_DATA_DIR: dataDir, SERVICE_WORKERS: '2' });
    expect(outcome).toEqual({
      ok: false,
      fault:
        'SERVICE_WORKERS is 2 and SERVICE_DATA_DIR is longer than 94 bytes; allowed: 1, or a shorter path',
    });
  });

  test('a port in use by another process is named', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    const { promise, resolve } = Promise.withResolvers<void>();
    other.once('listening', resolve);
    await promise;
    const address = other.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const { outcome } = await start({ SERVICE_PORT: String(port) });
    expect(outcome).toMatchObject({ ok: false, fault: expect.stringContaining(`SERVICE_PORT is ${port}`) });
  });

  test('a secret of 32 bytes in fewer characters is long enough, also from a file', async () => {
    const path = join(folder(), 'secret');
    writeFileSync(path, `${'ä'.repeat(16)}\n`);
    const read = readConfig({ SERVICE_JWT_SECRET_FILE: path });
    expect(read.ok && read.config.jwtSecret).toBe('ä'.repeat(16));
  });
});

describe('the start', () => {
  test.each(['text', 'json'] as const)(
    'says `[INFO] migrations applied N` when it is done (%s)',
    async (format) => {
      const dataDir = folder();
      const { lines } = await start({ SERVICE_DATA_DIR: dataDir }, format);
      const said = lines.map((line) => (format === 'json' ? String(JSON.parse(line).msg) : line));
      expect(said.filter((line) => /^\[INFO\] migrations applied [1-9]\d*( |$)/.test(line))).toHaveLength(1);
    },
  );

  test('a second start applies no migrations', async () => {
    const dataDir = folder();
    const first = await start({ SERVICE_DATA_DIR: dataDir });
    if (!first.outcome.ok) throw new Error(first.outcome.fault);
    await first.outcome.stop();
    const { lines } = await start({ SERVICE_DATA_DIR: dataDir });
    expect(lines.some((line) => line.startsWith('[INFO] migrations applied 0 '))).toBe(true);
  });

  test('refuses a database of a newer program and leaves it as it is', async () => {
    const dataDir = folder();
    const first = await start({ SERVICE_DATA_DIR: dataDir });
    if (!first.outcome.ok) throw new Error(first.outcome.fault);
    await first.outcome.stop();
    const database = openSqlite(join(dataDir, 'tidegate.db'), databaseOptions());
    const newer = { version: 9_999, name: 'from-the-future', applied_at: 0 };
    await database.transact((tx) => tx.insertInto('schema_migrations').values(newer).execute());
    await database.close();
    const { outcome } = await start({ SERVICE_DATA_DIR: dataDir });
    expect(outcome).toEqual({
      ok: false,
      fault: expect.stringMatching(/^the database is at version 9999, this program supports \d+: /),
    });
  });

  test('refuses a database from before the first release, with one line that says what to do', async () => {
    const dataDir = folder();
    const database = openSqlite(join(dataDir, 'tidegate.db'), databaseOptions());
    const older: Migration = { version: 96, name: 'updates-by-host', statements: [] };
    await migrate(database, { migrations: [older], now: () => 1 });
    await database.close();
    const { outcome } = await start({ SERVICE_DATA_DIR: dataDir });
    expect(outcome).toEqual({
      ok: false,
      fault: expect.stringMatching(
        /^the database is at version 96, from before the first release, .*: set SERVICE_DATA_DIR to an empty folder .*$/,
      ),
    });
  });

  test('while it drains it serves and is not ready, and every connection ends with its answer', async () => {
    const { outcome } = await start({ SERVICE_DRAIN_SECONDS: '1' });
    if (!outcome.ok) throw new Error(outcome.fault);
    expect(await connectionOf(outcome.url, '/api/ready')).toEqual([200, 'keep-alive']);
    const drained = outcome.drain();
    expect(await connectionOf(outcome.url, '/api/ready')).toEqual([503, 'close']);
    expect(await connectionOf(outcome.url, '/api/health')).toEqual([200, 'close']);
    await drained;
    await outcome.stop();
    await expect(fetch(`${outcome.url}/api/health`)).rejects.toThrow();
  });

  test('stops at once, and then answers no requests', async () => {
    const { outcome } = await start({});
    if (!outcome.ok) throw new Error(outcome.fault);
    const health = await fetch(`${outcome.url}/api/health`);
    expect(await health.json()).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      uptime_seconds: expect.any(Number),
      checks: { database: 'ok', advisories: 'off' },
    });
    const startedMs = performance.now();
    await outcome.stop();
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    await expect(fetch(`${outcome.url}/api/health`)).rejects.toThrow();
  });

  test('over TLS speaks 1.2 and newer, and presents a replaced certificate when asked to look', async () => {
    const dataDir = folder();
    const place = { SERVICE_TLS_CERT: join(dataDir, 'cert.pem'), SERVICE_TLS_KEY: join(dataDir, 'key.pem') };
    const lay = ({ cert, key }: { cert: string; key: string }) => {
      writeFileSync(place.SERVICE_TLS_CERT, cert);
      writeFileSync(place.SERVICE_TLS_KEY, key);
    };
    lay(PAIR);
    const { outcome } = await start({ SERVICE_HOST: '0.0.0.0', SERVICE_DATA_DIR: dataDir, ...place });
    if (!outcome.ok) throw new Error(outcome.fault);
    const port = Number(new URL(outcome.url).port);
    expect(outcome.url).toMatch(/^https:/);
    expect(await presentedOn(port)).toBe(new X509Certificate(PAIR.cert).fingerprint256);
    expect(
      await presentedOn(port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' }),
    ).toBe(TOO_OLD);
    lay(OTHER);
    await outcome.lookForCertificate?.();
    expect(await presentedOn(port)).toBe(new X509Certificate(OTHER.cert).fingerprint256);
    expect(
      await presentedOn(port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' }),
    ).toBe(TOO_OLD);
  });

  test('with ACME listens before there is a certificate, and says what it waits for', async () => {
    const { outcome, lines } = await start({ SERVICE_HOST: '127.0.0.1', ...ACME });
    if (!outcome.ok) throw new Error(outcome.fault);
    expect(outcome.url).toMatch(/^https:/);
    expect(await presentedOn(Number(new URL(outcome.url).port))).toMatch(/^ERR_SSL_/);
    await outcome.lookForCertificate?.();
    const said = lines.map((line) => line.replace(/ time=.*/, ''));
    expect(said).toContain(
      '[WARN] no certificate yet: https connections fail until one is issued names=tidegate.example challenge=http-01',
    );
    expect(said.join('\n')).toContain(
      'certificate not issued cause="127.0.0.1:9 does not answer (ECONNREFUSED)"',
    );
  });
});

async function connectionOf(url: string, path: string) {
  const { status, headers } = await fetch(url + path);
  return [status, headers.get('connection')];
}
