import { X509Certificate } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createAuthority } from '@tidegate/testkit/certificates';
import { createClock } from '@tidegate/testkit/clock';
import { openOnLoopback } from '@tidegate/testkit/loopback';
import { missingPebble, type PebbleOptions, startPebble } from '@tidegate/testkit/pebble';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { presentedOn } from '../../testing/tls-peer.ts';
import type { ServerTls } from '../server-tls.ts';
import { acmeFolder } from './acme-folder.ts';
import { createAlpnResponder } from './alpn-responder.ts';
import { listenForChallenges } from './challenge-listener.ts';
import { type AcmeOptions, keepCertificate } from './keep-certificate.ts';

const missing = missingPebble();
const NAME = 'tidegate.example';
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A port where nobody listens. */
const NOWHERE = 'https://127.0.0.1:9/dir';

type Type = 'http-01' | 'tls-alpn-01';

/** A server that asks for a certificate, on a clock that starts at the real time. */
async function place(type: Type = 'http-01', options: Partial<AcmeOptions> = {}) {
  const folder = tmpDir();
  onTestFinished(folder.remove);
  const clock = createClock(Date.now());
  const lines: string[] = [];
  const log = createLog({
    level: 'debug',
    format: 'text',
    now: clock.now,
    write: (line) => lines.push(line),
  });
  const { server, port } = await listening((_, response) => response.end('here'));
  const listener = await listenForChallenges({ host: '127.0.0.1', port: 0, origin: `https://${NAME}` });
  onTestFinished(listener.stop);
  const alpn = createAlpnResponder(clock.now);
  alpn.attach(server);
  function open(more: Partial<AcmeOptions> = {}): ServerTls {
    const tls = keepCertificate({
      ...{ names: [NAME], directoryUrl: NOWHERE, ca: null, email: null, binding: null },
      ...{ folder: acmeFolder(folder.path), responder: type === 'http-01' ? listener : alpn },
      ...{ log, now: clock.now, random: (size: number) => Buffer.alloc(size), pollMs: 20 },
      ...options,
      ...more,
    });
    tls.attach(server);
    onTestFinished(async () => void (await tls.stop?.()));
    return tls;
  }
  /** Starts a Pebble that finds this server, and returns the settings for it. */
  async function pebble(given: Partial<PebbleOptions> = {}) {
    const started = await startPebble({ httpPort: listener.port, tlsPort: port, ...given });
    onTestFinished(() => started[Symbol.asyncDispose]());
    return { directoryUrl: started.directoryUrl, ca: started.ca };
  }
  return {
    ...{ clock, lines, open, pebble, dataDir: folder.path, acmeDir: join(folder.path, 'acme') },
    presented: () => presentedOn(port),
    /** Lines that say an attempt began. */
    attempts: () => lines.filter((line) => line.includes('certificate asked for')).length,
  };
}

async function listening(answer: RequestListener, pair: { cert?: string; key?: string } = {}) {
  const server = createServer(pair, answer);
  server.on('tlsClientError', () => {});
  const { port, stop } = await openOnLoopback(server);
  onTestFinished(stop);
  return { server, port };
}

const fingerprintOf = (tls: ServerTls) => new X509Certificate(tls.current()?.cert ?? '').fingerprint256;

describe.skipIf(missing !== null)(`a certificate by ACME${missing === null ? '' : ` (${missing})`}`, () => {
  test.each<Type>(['http-01', 'tls-alpn-01'])('is issued by %s, though nonces are refused', async (type) => {
    const it = await place(type, { names: [NAME, 'b.example'] });
    const tls = it.open(await it.pebble());
    expect(await it.presented()).toMatch(/^ERR_SSL_/);
    await tls.look('timer');
    expect(it.lines).toEqual([
      expect.stringContaining('[INFO] certificate asked for'),
      expect.stringContaining('[INFO] certificate issued valid_until='),
    ]);
    const issued = new X509Certificate(tls.current()?.cert ?? '');
    expect(await it.presented()).toBe(issued.fingerprint256);
    expect([issued.checkHost(NAME), issued.checkHost('b.example')]).toEqual([NAME, 'b.example']);
  });

  test('is kept with its keys for the owner only, and no key is logged', async () => {
    const it = await place();
    await it.open(await it.pebble()).look('timer');
    const names = readdirSync(it.acmeDir).sort();
    expect(names).toEqual(['account-key.pem', 'certificate.json']);
    expect(statSync(it.acmeDir).mode & 0o777).toBe(0o700);
    for (const name of names) {
      expect(statSync(join(it.acmeDir, name)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(it.acmeDir, name), 'utf8')).toContain('PRIVATE KEY');
    }
    expect(it.lines.join()).not.toContain('PRIVATE KEY');
  });

  test('is presented after a restart without asking, and asked for again if it is for other names', async () => {
    const it = await place();
    const at = await it.pebble();
    const first = it.open(at);
    await first.look('timer');
    await first.stop?.();
    const second = it.open(at);
    await second.look('timer');
    expect([fingerprintOf(second), it.attempts()]).toEqual([fingerprintOf(first), 1]);
    const third = it.open({ ...at, names: [NAME, 'new.example'] });
    expect(await it.presented()).toBe(fingerprintOf(first));
    await third.look('timer');
    expect(it.attempts()).toBe(2);
    expect(new X509Certificate(third.current()?.cert ?? '').checkHost('new.example')).toBe('new.example');
  });

  test('is renewed when a third of its lifetime is left, and not before', async () => {
    const it = await place();
    const at = await it.pebble();
    const [fromMs, untilMs] = [it.clock.now() - 50 * DAY_MS, it.clock.now() + 40 * DAY_MS];
    const old = await (await createAuthority()).issue([NAME], { fromMs, untilMs });
    acmeFolder(it.dataDir).keepCertificate({ directoryUrl: at.directoryUrl, ...old });
    const tls = it.open(at);
    // A third of 90 days, and up to three days before that to spread renewals.
    it.clock.advance(7 * DAY_MS - MINUTE_MS);
    await tls.look('timer');
    expect([it.attempts(), await it.presented()]).toEqual([0, new X509Certificate(old.cert).fingerprint256]);
    it.clock.advance(3 * DAY_MS + MINUTE_MS);
    await tls.look('timer');
    expect(it.attempts()).toBe(1);
    expect(await it.presented()).not.toBe(new X509Certificate(old.cert).fingerprint256);
    expect(await it.presented()).toBe(fingerprintOf(tls));
    await tls.look('timer');
    expect(it.attempts()).toBe(1);
  });

  test('that is due as soon as it is issued is not asked for again and again', async () => {
    const it = await place();
    it.clock.advance(50 * 365 * DAY_MS);
    const tls = it.open(await it.pebble());
    await tls.look('timer');
    await tls.look('timer');
    expect(it.attempts()).toBe(1);
    expect(it.lines.at(-1)).toContain('check the clock');
    expect(await it.presented()).toBe(fingerprintOf(tls));
  });

  test('needs the external account where the authority wants one', async () => {
    const it = await place();
    const hmacKey = Buffer.alloc(32, 7).toString('base64url');
    const at = await it.pebble({ accounts: { 'kid-1': hmacKey } });
    await it.open(at).look('timer');
    expect(it.lines.at(-1)).toMatch(/certificate not issued cause=".*\(externalAccountRequired\)"/);
    const tls = it.open({ ...at, binding: { keyId: 'kid-1', hmacKey } });
    await tls.look('timer');
    expect(it.lines.at(-1)).toContain('certificate issued');
  });

  test('that cannot be proven is reported with the words of the ACME server', async () => {
    const it = await place();
    const nobody = await listening(() => {});
    nobody.server.close();
    await it.open(await it.pebble({ httpPort: nobody.port })).look('timer');
    expect(it.lines.at(-1)).toMatch(
      /\[WARN\] certificate not issued cause="http-01 failed for tidegate\.example: .+\(connection\)".* serving="nothing: every https connection fails until then"/,
    );
  });
});

describe('while no certificate is issued', () => {
  test('attempts follow each other at growing pauses, also across restarts', async () => {
    const it = await place();
    let tls = it.open();
    const failedAt: number[] = [];
    const startMs = it.clock.now();
    for (let minute = 0; minute < 24 * 60; minute++) {
      const before = it.attempts();
      await tls.look('timer');
      if (it.attempts() > before) failedAt.push((it.clock.now() - startMs) / MINUTE_MS);
      if (minute % 7 === 0) tls = it.open();
      it.clock.advance(MINUTE_MS);
    }
    expect(failedAt).toEqual([0, 5, 20, 80, 260, 620, 1_340]);
    expect(acmeFolder(it.dataDir).failure()).toMatchObject({ failures: 7, sinceMs: startMs });
  });

  test('an operator who asks, or other settings, need not wait', async () => {
    const it = await place();
    const tls = it.open();
    await tls.look('timer');
    await tls.look('timer');
    await tls.look('operator');
    expect(it.attempts()).toBe(2);
    await it.open({ names: [NAME, 'b.example'] }).look('timer');
    expect(it.attempts()).toBe(3);
  });

  test('a pause that the ACME server asks for is kept, whoever asks', async () => {
    const it = await place();
    const authority = await createAuthority();
    const { port } = await listening(
      (_, response) =>
        response
          .writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '86400' })
          .end('{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates"}'),
      await authority.issue(['127.0.0.1']),
    );
    const tls = it.open({ directoryUrl: `https://127.0.0.1:${port}/dir`, ca: authority.cert });
    await tls.look('timer');
    expect(it.lines.at(-1)).toContain(`cause="127.0.0.1:${port}: too many certificates (rateLimited)"`);
    it.clock.advance(DAY_MS - MINUTE_MS);
    await tls.look('operator');
    expect(it.attempts()).toBe(1);
    it.clock.advance(MINUTE_MS);
    await tls.look('timer');
    expect(it.attempts()).toBe(2);
  });

  test('an operator need not wait longer than the ACME server asked', async () => {
    const it = await place();
    const authority = await createAuthority();
    const { port } = await listening(
      (_, response) => response.writeHead(503, { 'retry-after': '10' }).end(),
      await authority.issue(['127.0.0.1']),
    );
    const tls = it.open({ directoryUrl: `https://127.0.0.1:${port}/dir`, ca: authority.cert });
    await tls.look('operator');
    await tls.look('operator');
    expect(it.attempts()).toBe(1);
    it.clock.advance(10_000);
    await tls.look('timer');
    expect(it.attempts()).toBe(1);
    await tls.look('operator');
    expect(it.attempts()).toBe(2);
  });

  test('an ACME server that is not trusted, or answers nonsense, gets nothing', async () => {
    const it = await place();
    const authority = await createAuthority();
    const { port } = await listening(
      (_, response) => response.end('{}'),
      await authority.issue(['127.0.0.1']),
    );
    const directoryUrl = `https://127.0.0.1:${port}/dir`;
    await it.open({ directoryUrl }).look('operator');
    expect(it.lines.at(-1)).toContain('does not answer (UNABLE_TO_VERIFY_LEAF_SIGNATURE)');
    await it.open({ directoryUrl, ca: authority.cert }).look('operator');
    expect(it.lines.at(-1)).toContain('did not answer as an ACME server does');
  });

  test.each<[string, { nonce?: string; at?: string }, string]>([
    ['no URL', { nonce: 'https://[' }, 'a URL of the ACME server does not answer'],
    ['a relative location', { at: '/order/1' }, 'the order failed: (malformed)'],
    ['a location without encryption', { at: 'http://127.0.0.1/order/1' }, 'the order has no URL'],
  ])('an ACME server that answers with %s ends no server', async (_, { nonce, at }, cause) => {
    const it = await place();
    const authority = await createAuthority();
    const { port } = await listening(
      ({ method, url }, response) => {
        const origin = `https://127.0.0.1:${port}`;
        const newNonce = nonce ?? `${origin}/nonce`;
        const directory = { newNonce, newAccount: `${origin}/account`, newOrder: `${origin}/order` };
        const order = { status: 'pending', authorizations: [], finalize: `${origin}/finalize` };
        const failed = {
          ...order,
          status: 'invalid',
          error: { type: 'urn:ietf:params:acme:error:malformed' },
        };
        const answers = new Map<string | undefined, object>([
          ['/dir', directory],
          ['/account', { status: 'valid' }],
          ['/order', order],
          ['/order/1', failed],
        ]);
        const locations = new Map([
          ['/account', `${origin}/account/1`],
          ['/order', at],
        ]);
        const location = locations.get(url ?? '');
        response.writeHead(200, { 'replay-nonce': 'nonce', ...(location && { location }) });
        response.end(method === 'HEAD' ? undefined : JSON.stringify(answers.get(url) ?? {}));
      },
      await authority.issue(['127.0.0.1']),
    );
    const tls = it.open({ directoryUrl: `https://127.0.0.1:${port}/dir`, ca: authority.cert });
    await tls.look('timer');
    expect(it.lines.at(-1)).toContain(cause);
    await tls.look('timer');
    expect(it.attempts()).toBe(1);
  });

  test.each([
    { refusals: 10, cause: 'the order has no URL' },
    { refusals: 11, cause: 'another nonce (badNonce)' },
  ])('a request is sent eleven times, each with a new nonce: $refusals refusals', async (of) => {
    const it = await place();
    const authority = await createAuthority();
    const nonces: unknown[] = [];
    let given = 0;
    const { port } = await listening(
      async (request, response) => {
        const origin = `https://127.0.0.1:${port}`;
        const answers = new Map<string | undefined, object>([
          [
            '/dir',
            { newNonce: `${origin}/nonce`, newAccount: `${origin}/account`, newOrder: `${origin}/order` },
          ],
          ['/account', { status: 'valid' }],
          ['/order', { status: 'pending', authorizations: [], finalize: `${origin}/finalize` }],
        ]);
        const refusal = { type: 'urn:ietf:params:acme:error:badNonce', detail: 'another nonce' };
        if (request.url === '/account') {
          const { protected: header } = (await json(request)) as { protected: string };
          nonces.push(JSON.parse(Buffer.from(header, 'base64url').toString()).nonce);
        }
        const isRefused = request.url === '/account' && nonces.length <= of.refusals;
        response.writeHead(isRefused ? 400 : 200, {
          'replay-nonce': `nonce-${++given}`,
          ...(request.url === '/account' && { location: `${origin}/account/1` }),
        });
        const answer = isRefused ? refusal : (answers.get(request.url) ?? {});
        response.end(request.method === 'HEAD' ? undefined : JSON.stringify(answer));
      },
      await authority.issue(['127.0.0.1']),
    );
    const tls = it.open({ directoryUrl: `https://127.0.0.1:${port}/dir`, ca: authority.cert });
    await tls.look('timer');
    expect(it.lines.at(-1)).toContain(of.cause);
    expect(new Set(nonces).size).toBe(11);
    expect(nonces).toHaveLength(11);
  });

  test('an account key that cannot be read ends no server', async () => {
    const it = await place();
    mkdirSync(join(it.acmeDir, 'account-key.pem'), { recursive: true });
    const tls = it.open();
    await tls.look('timer');
    expect(it.lines.at(-1)).toContain('EISDIR');
    await tls.look('timer');
    expect(it.attempts()).toBe(1);
  });

  test('a stop ends an attempt at once, and leaves no failure', async () => {
    const it = await place();
    const authority = await createAuthority();
    const asked = Promise.withResolvers<void>();
    const { port } = await listening(() => asked.resolve(), await authority.issue(['127.0.0.1']));
    const tls = it.open({ directoryUrl: `https://127.0.0.1:${port}/dir`, ca: authority.cert });
    const look = tls.look('timer');
    await asked.promise;
    await tls.stop?.();
    await look;
    expect(it.lines).toHaveLength(1);
    expect(acmeFolder(it.dataDir).failure()).toBe(null);
  });

  test.each(['certificate.json', 'failure.json', 'account-key.pem'])(
    'a %s that is cut off counts as absent',
    async (name) => {
      const it = await place();
      await it.open().look('timer');
      writeFileSync(join(it.acmeDir, name), '{"cert": "-----BE');
      const tls = it.open();
      expect(tls.current()).toBe(null);
      await tls.look('operator');
      expect(it.attempts()).toBe(2);
    },
  );
});
