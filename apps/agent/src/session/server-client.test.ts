import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { listenOnLoopback } from '@tidegate/testkit/loopback';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, describe, expect, test } from 'vitest';
import { saveConfig } from '../identity/config-file.ts';
import { configOf } from '../testing/agent-config.ts';
import { createFleet } from '../testing/fleet.ts';
import { html, json, problem, type Reply, startServer } from '../testing/scripted-server.ts';
import { checkServerUrl, createServerClient, type ServerRequest } from './server-client.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function ask(reply: Reply | 'hang up', request: Partial<ServerRequest> = {}) {
  const server = await startServer(() => reply);
  stops.push(server.stop);
  const client = createServerClient({ baseUrl: server.url });
  return { answer: await client.request({ method: 'GET', path: '/x', ...request }), seen: server.seen };
}

async function run(program: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  await once(spawn(program, args, { stdio: 'ignore', env }), 'exit');
}

describe("only Tidegate's own JSON codes are trusted (design reading 9)", () => {
  test('a problem document of the server is a problem', async () => {
    const { answer } = await ask(problem('refresh_token_invalid'));
    expect(answer).toMatchObject({ kind: 'problem', status: 401, code: 'refresh_token_invalid' });
  });

  test.each<[string, Reply | 'hang up']>([
    ['the 401 page of a proxy', html(401)],
    ['the 403 page of a proxy', html(403)],
    ['the 200 page of a captive portal', html(200)],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.test/' }, body: '' }],
    ['JSON that is no problem', json({ code: 'refresh_token_invalid' }, 401)],
    ['a code under another status', { ...problem('refresh_token_invalid'), status: 403 }],
    [
      'our body as plain JSON',
      { ...problem('unauthorized'), headers: { 'content-type': 'application/json' } },
    ],
    [
      'an unknown code',
      {
        ...problem('unauthorized'),
        body: problem('unauthorized').body.replaceAll('unauthorized', 'toString'),
      },
    ],
    ['JSON with a duplicate key', { ...json({}), body: '{"a":1,"a":2}' }],
    ['no answer at all', 'hang up'],
  ])('%s is "unreachable" and retried', async (_, reply) => {
    expect((await ask(reply)).answer.kind).toBe('unreachable');
  });
});

test('a redirect is not followed, even within the server: tokens go where they were sent and nowhere else', async () => {
  const server = await startServer(({ path }) =>
    path === '/x' ? { status: 307, headers: { location: '/y' }, body: '' } : json({ ok: true }),
  );
  stops.push(server.stop);
  const client = createServerClient({ baseUrl: server.url });
  expect((await client.request({ method: 'GET', path: '/x' })).kind).toBe('unreachable');
  expect(server.seen.map(({ path }) => path)).toEqual(['/x']);
});

test('Retry-After is read in seconds and as a date, and bounded', async () => {
  const after = async (value: string) => {
    const { answer } = await ask(problem('rate_limited', { 'retry-after': value }));
    return answer.kind === 'problem' ? answer.retryAfterMs : undefined;
  };
  expect(await after('7')).toBe(7_000);
  expect(await after('999999')).toBe(3_600_000);
  expect(await after(new Date(Date.now() + 3_000_000).toUTCString())).toBeGreaterThan(2_900_000);
  expect(await after('soon')).toBeNull();
});

test('an answer past the limit is aborted, and a missing one times out', async () => {
  const { answer } = await ask(json({ text: 'x'.repeat(5_000) }), { maxAnswerBytes: 1_000 });
  expect(answer).toMatchObject({ kind: 'unreachable', detail: expect.stringContaining('larger than') });
  const silent = await listenOnLoopback(() => {});
  stops.push(silent.stop);
  const client = createServerClient({ baseUrl: silent.url });
  const waited = await client.request({ method: 'GET', path: '/', timeoutMs: 50 });
  expect(waited.kind).toBe('unreachable');
});

test('a large body is compressed, a small one goes as it is; both arrive byte for byte', async () => {
  const bytes = new TextEncoder().encode(`{ "text" : "${'a'.repeat(100_000)}" }`);
  let received = Buffer.alloc(0);
  const server = await listenOnLoopback(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    received = Buffer.concat(chunks);
    if (request.headers['content-encoding'] === 'gzip') received = gunzipSync(received);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  stops.push(server.stop);
  const client = createServerClient({ baseUrl: server.url });
  await client.request({ method: 'PUT', path: '/', body: bytes });
  expect(received.equals(bytes)).toBe(true);
  await client.request({ method: 'PUT', path: '/', body: bytes.subarray(0, 100) });
  expect(received.equals(bytes.subarray(0, 100))).toBe(true);
});

describe('the server address (T1)', () => {
  test('http:// is refused unless it is allowed explicitly', () => {
    expect(checkServerUrl('http://t.test', false)).toMatchObject({ ok: false });
    expect(checkServerUrl('http://t.test/', true)).toEqual({ ok: true, url: 'http://t.test' });
    expect(checkServerUrl('https://t.test/base/', false)).toEqual({ ok: true, url: 'https://t.test/base' });
  });

  test.each([
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://LOCALHOST/base/', 'http://localhost/base'],
    ['http://127.0.0.1', 'http://127.0.0.1'],
    ['http://127.255.3.4:80', 'http://127.255.3.4'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['http://[0:0:0:0:0:0:0:1]', 'http://[::1]'],
    ['http://2130706433', 'http://127.0.0.1'], // other spellings become the one that is called
    ['http://localhost\\@evil.example', 'http://localhost/@evil.example'],
  ])('%s is of this machine and needs no word', (text, url) => {
    expect(checkServerUrl(text, false)).toEqual({ ok: true, url });
  });

  test.each([
    'http://localhost.evil.example',
    'http://127.0.0.1.evil',
    'http://127.0.0.1.evil.example',
    'http://evil-localhost',
    'http://notlocalhost:8080',
    'http://localhost.',
    'http://a.localhost',
    'http://localhost@evil.example',
    'http://localhost:80@evil.example/',
    'http://127.0.0.1%40evil.example',
    'http://evil.example/localhost',
    'http://evil.example\\@localhost',
    'http://evil.example#@localhost',
    'http://128.0.0.1',
    'http://0.0.0.0:8080',
    'http://10.127.0.1',
    'http://[::ffff:127.0.0.1]',
    'http://[::2]',
    'http://ⅼocalhost.example',
    'http://192.168.0.1',
  ])('%s only looks so, or is near, and is refused', (text) => {
    expect(checkServerUrl(text, false)).toMatchObject({ ok: false });
  });

  test('what is sent to this machine does not go to a proxy, as the compiled binary', async () => {
    const fleet = createFleet(Date.now());
    const proxy = await startServer(() => html(200));
    const server = await startServer(() => json({ status: 'ok', version: '1' }));
    const folder = tmpDir();
    stops.push(proxy.stop, server.stop, async () => folder.remove());
    saveConfig(folder.path, configOf(fleet, { server_url: server.url, allow_insecure_http: false }));
    const binary = join(folder.path, 'tidegate-agent');
    await run(process.execPath, [join(root, 'scripts/build-agent.ts'), '--outfile', binary], {});
    const proxies = { HTTP_PROXY: proxy.url, http_proxy: proxy.url, ALL_PROXY: proxy.url };
    await run(binary, ['doctor', '--config', folder.path], { ...process.env, ...proxies });
    expect(server.seen.map(({ path }) => path)).toEqual(['/api/health']);
    expect(proxy.seen).toEqual([]);
  });

  test.each([
    't.test',
    'ftp://t.test',
    'https://user:pw@t.test',
    'https://t.test/?a=1',
    'https://t.test/#a',
    '',
  ])('%j is refused', (text) => {
    expect(checkServerUrl(text, true)).toMatchObject({ ok: false });
  });
});
