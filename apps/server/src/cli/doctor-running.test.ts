import { createServer, type RequestListener } from 'node:http';
import { createSelfSigned } from '@tidegate/testkit/certificates';
import { openOnLoopback } from '@tidegate/testkit/loopback';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { expect, onTestFinished, test } from 'vitest';
import { servedPlaces } from '../testing/cli-place.ts';
import { ENGINES, SAMPLED_ENGINES } from '../testing/engines.ts';
import { VERSION } from '../version.ts';
import { askRunningServer } from './doctor-running.ts';

const served = servedPlaces();
const HEALTH = { version: '0.1.0', uptime_seconds: 1, checks: { database: 'down', advisories: 'ok' } };

test.each(ENGINES)('E6: doctor --running says that a running server answers ($name)', async (engine) => {
  const place = await served(engine);
  const server = await place.start();
  const { hostname, port } = new URL(server.url);
  const env = { SERVICE_HOST: hostname, SERVICE_PORT: port };

  const beside = await place.run(['doctor', '--running'], { env });
  expect(beside).toMatchObject({ code: 0, err: '' });
  expect(beside.out).toContain(`ok   running: ${VERSION}, `);

  await server.stop();
  const alone = await place.run(['doctor', '--running'], { env });
  expect(alone).toMatchObject({ code: 1, out: '' });
  expect(alone.err).toMatch(/^FAIL running: http:\/\/\S+\/api\/health does not answer: /);
});

test.each<[string, RequestListener, { code: number; says: RegExp }]>([
  [
    'a degraded server',
    (_request, response) => response.end(JSON.stringify({ ...HEALTH, status: 'degraded' })),
    { code: 0, says: /^ok {3}running: 0\.1\.0, degraded, database down, advisories ok$/ },
  ],
  [
    'another program',
    (_request, response) => response.end('It works!'),
    { code: 1, says: /another program answers on this port, with status 200/ },
  ],
  [
    'a server that refuses',
    (_request, response) => response.writeHead(503).end(JSON.stringify({ ...HEALTH, status: 'ok' })),
    { code: 1, says: /with status 503/ },
  ],
  [
    'an endless answer',
    (_request, response) => {
      const write = () => {
        while (response.write('x'.repeat(4_096)));
      };
      response.on('drain', write);
      write();
    },
    { code: 1, says: /another program answers on this port/ },
  ],
  [
    'an answer that breaks off',
    (_request, response) => {
      response.write('{');
      response.destroy();
    },
    { code: 1, says: /aborted|ended its answer|does not answer/ },
  ],
])('E6: doctor --running on %s', async (_, answer, { code, says }) => {
  const port = await listen(answer);
  expect(await ask({ SERVICE_HOST: '0.0.0.0', SERVICE_PORT: String(port) })).toEqual({
    code,
    said: expect.stringMatching(says),
  });
});

test('doctor --running asks a server with TLS by TLS, whatever names its certificate has', async () => {
  const { cert, key } = await createSelfSigned(['updates.example.org']);
  const { port, stop } = await listenWithTls({ cert, key }, (_request, response) =>
    response.end(JSON.stringify({ ...HEALTH, status: 'ok' })),
  );
  onTestFinished(stop);
  const env = { SERVICE_HOST: '127.0.0.1', SERVICE_PORT: String(port) };
  const secure = { ...env, SERVICE_TLS_CERT: cert, SERVICE_TLS_KEY: key };
  const acme = { ...env, SERVICE_ACME_DOMAINS: 'updates.example.org', SERVICE_ACME_TERMS_AGREED: 'true' };
  expect(await ask(secure)).toMatchObject({ code: 0 });
  expect(await ask(acme)).toMatchObject({ code: 0 });
  expect(await ask(env)).toMatchObject({ code: 1 });
});

test.each([
  ['a wrong setting', { SERVICE_PORT: 'x' }, /SERVICE_PORT/],
  ['a port that the system chose', { SERVICE_PORT: '0' }, /SERVICE_PORT is 0/],
])('doctor --running with %s fails and names it', async (_, env, says) => {
  expect(await ask(env)).toEqual({ code: 1, said: expect.stringMatching(says) });
});

test('doctor --running does not wait longer than its limit', async () => {
  const port = await listen(() => {});
  const said = await ask({ SERVICE_HOST: '127.0.0.1', SERVICE_PORT: String(port) }, 50);
  expect(said).toEqual({ code: 1, said: expect.stringMatching(/has not answered within 0\.05 s$/) });
});

test.each(SAMPLED_ENGINES)('doctor --running goes with no other option', async (engine) => {
  const place = await served(engine);
  expect(await place.run(['doctor', '--running', '--json'])).toMatchObject({ code: 2 });
});

async function ask(env: Record<string, string>, timeoutMs?: number): Promise<{ code: number; said: string }> {
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const code = await askRunningServer({ env, out: say, err: say }, timeoutMs);
  return { code, said: said.join('\n') };
}

async function listen(answer: RequestListener): Promise<number> {
  const { port, stop } = await openOnLoopback(createServer(answer));
  onTestFinished(stop);
  return port;
}
