import { once } from 'node:events';
import { chmodSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openFileStore } from '../secrets/file-store.ts';
import { apiPath, readApiPath } from './api-path.ts';
import { connectServer } from './server-connection.ts';
import { openSession, WITHHELD } from './session.ts';

const COOKIE = 'tidegate_session=eyJ.secret.token; Path=/; HttpOnly';

async function startScene() {
  const folder = tmpDir();
  const file = join(folder.path, 'deep', 'sessions.json');
  const seen: { url: string; headers: Record<string, unknown> }[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    if (request.url === '/api/v1/auth/login')
      response
        .setHeader('set-cookie', [COOKIE, 'tidegate_csrf=c'])
        .end('{"token":"eyJ.secret.token","role":"admin"}');
    else if (request.url === '/api/v1/auth/logout')
      response.setHeader('set-cookie', 'tidegate_session=; Max-Age=0').writeHead(204).end();
    else if (request.url === '/api/moved') response.writeHead(302, { location: '/elsewhere' }).end();
    else response.setHeader('x-secret', 'no').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  const url = `http://127.0.0.1:${address.port}`;
  onTestFinished(() => {
    server.close();
    folder.remove();
  });
  const store = openFileStore(file);
  const session = await openSession(store, url);
  return { file, store, session, url, seen, connection: connectServer(url, session) };
}

const ask = (method: string, path: string, headers = {}) => ({
  ...{ method, headers, body: null },
  path: apiPath(path),
});

describe('the session', () => {
  test('is kept by the shell: the page gets the login response without it', async () => {
    const { connection, session, seen, store, url, file } = await startScene();
    const answer = await connection.request(ask('POST', '/api/v1/auth/login'));
    expect(JSON.parse(answer.body)).toEqual({ token: WITHHELD, role: 'admin' });
    expect(JSON.stringify(answer)).not.toContain('secret');
    expect(session.isThere()).toBe(true);
    await connection.request(ask('GET', '/api/v1/updates'));
    expect(seen.at(-1)?.headers.authorization).toBe('Bearer eyJ.secret.token');
    expect(await store.read(url)).toBe('eyJ.secret.token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o644);
    expect(await (await openSession(openFileStore(file), url)).authorization()).toEqual({
      authorization: 'Bearer eyJ.secret.token',
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('is deleted by the logout', async () => {
    const { connection, session, store, url } = await startScene();
    await connection.request(ask('POST', '/api/v1/auth/login'));
    await connection.request(ask('POST', '/api/v1/auth/logout'));
    expect([session.isThere(), await store.read(url)]).toEqual([false, null]);
  });
});

describe('the connection', () => {
  test('calls only the API of its server', async () => {
    const { url, session, seen } = await startScene();
    for (const path of [
      '//evil.invalid/api/',
      '/api/../install.sh',
      '/\\evil.invalid/api/',
      '@evil.invalid/api/',
      '/install.sh',
      '/logs/client-errors',
      '/api',
    ])
      expect(readApiPath(path), path).toMatchObject({ ok: false });
    const below = connectServer(`${url}/tidegate/`, session);
    await below.request(ask('GET', '/api/v1/updates?q=%2F'));
    expect(seen.map((one) => one.url)).toEqual(['/tidegate/api/v1/updates?q=%2F']);
  });

  test('follows no redirect, which would take the session along', async () => {
    const { connection, seen } = await startScene();
    await expect(connection.request(ask('GET', '/api/moved'))).rejects.toThrow();
    expect(seen.map(({ url }) => url)).toEqual(['/api/moved']);
  });

  test('passes only the known headers of requests and responses', async () => {
    const { connection, seen } = await startScene();
    const given = {
      accept: 'x/y',
      authorization: 'Bearer mine',
      cookie: 'a=b',
      'x-forwarded-for': '1.2.3.4',
    };
    const { headers } = await connection.request(ask('GET', '/api/v1/x', given));
    expect(seen[0]?.headers).toMatchObject({ accept: 'x/y' });
    for (const name of ['authorization', 'cookie', 'x-forwarded-for'])
      expect(seen[0]?.headers).not.toHaveProperty(name);
    expect(headers).not.toHaveProperty('x-secret');
  });
});
