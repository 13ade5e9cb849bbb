import { describe, expect, test } from 'vitest';
import { createEventHub } from '../core/event-hub.ts';
import { createFakeShell, MAIN } from '../testing/fake-backend.ts';
import { apiCommands } from './api-commands.ts';
import type { ServerConnection } from './server-connection.ts';

async function createScene(permissions: unknown[]) {
  const asked: string[] = [];
  const connection: ServerConnection = {
    async request({ method, path }) {
      asked.push(`${method} ${path.target}`);
      return { status: 200, headers: {}, body: '{}' };
    },
    open: () => new Promise(() => {}),
  };
  const commands = apiCommands(
    connection,
    createEventHub(() => {}),
    new AbortController().signal,
  );
  const shell = await createFakeShell({ identifier: 'api', windows: ['main'], permissions }, commands);
  const ask = (method: string, path: string) =>
    shell.call('api-request', { method, path, headers: {}, body: null });
  return { ...shell, asked, ask };
}

const READ_ONLY = {
  identifier: 'allow-api-request',
  allow: [{ method: 'GET', path: '/api/v1/*' }],
  deny: [{ path: '/api/v1/admin/*' }],
};

describe('the API through the gate', () => {
  test('a scope restricts methods and paths as the server reads them', async () => {
    const { ask, asked } = await createScene([READ_ONLY]);
    expect(await ask('GET', '/api/v1/updates?limit=1')).toMatchObject({ ok: true });
    for (const [method, path] of [
      ['POST', '/api/v1/updates/x/approve'],
      ['GET', '/api/v1/admin/operators'],
      ['GET', '/api/v1/%61dmin/operators'],
      ['GET', '/api/%761/%61%64%6d%69%6E/operators'],
      ['GET', '/api/health'],
    ] as const)
      expect(await ask(method, path)).toMatchObject({
        ok: false,
        error: expect.stringContaining('outside the scope'),
      });
    for (const path of [
      '/api/v1/x/../admin/operators',
      '/api/v1/x/%2e%2e/admin/operators',
      '/api/v1/x%2f..%2fadmin/operators',
      '/api/v1/%2561dmin/operators',
      '/api/v1//admin/operators',
      '/api/v1/x\\..\\admin/operators',
      '/api/v1/x%5c..%5cadmin/operators',
      '/api/v1/./admin/operators',
      '/api/v1/ad\tmin/operators',
      '/api/v1/\uff41dmin/operators',
      '/api/v1/%ef%bd%81dmin/operators',
      '/api/v1/%c0%ae%c0%ae/admin',
      '/api/v1/admin%00/operators',
      '/api/v1/updates#/admin',
    ])
      expect(await ask('GET', path), path).toMatchObject({ ok: false });
    expect(asked).toEqual(['GET /api/v1/updates?limit=1']);
  });

  test('the called path is the checked one: normalized, decoded once', async () => {
    const { ask, asked } = await createScene([READ_ONLY]);
    expect(await ask('GET', '/api/v1/%75pdates/caf%C3%A9?q=%61%2F')).toMatchObject({ ok: true });
    expect(asked).toEqual(['GET /api/v1/updates/caf%C3%A9?q=%61%2F']);
  });

  test.each(['/api/v1/%61dmin/*', '/api/v1/admin/../x', '/api//v1/*', '/api/v1/\uff41dmin/*', 'api/v1/*'])(
    'a scope with the path %s allows nothing',
    async (path) => {
      const { ask, asked } = await createScene([{ ...READ_ONLY, deny: [{ path }] }]);
      expect(await ask('GET', '/api/v1/updates')).toMatchObject({ ok: false });
      expect(asked).toEqual([]);
    },
  );

  test('a scope with an unknown entry allows nothing', async () => {
    const { ask, asked } = await createScene([{ ...READ_ONLY, deny: [{ paths: ['/api/v1/admin/*'] }] }]);
    expect(await ask('GET', '/api/v1/updates')).toMatchObject({ ok: false });
    expect(asked).toEqual([]);
  });

  test.each([
    ['TRACE', '/api/v1/updates'],
    ['GET', '/install.sh'],
    ['GET', 'https://evil.invalid/api/'],
  ])('%s %s is refused', async (method, path) => {
    const { ask, asked } = await createScene(['allow-api-request']);
    expect(await ask(method, path)).toMatchObject({ ok: false });
    expect(asked).toEqual([]);
  });

  test('a webview has a limited number of streams; those of its previous document do not count', async () => {
    const { call } = await createScene(['allow-api-stream-open']);
    const open = (n: number, sender = MAIN) =>
      call(
        'api-stream-open',
        { name: `stream-${String(n).padStart(36, '0')}`, path: '/api/v1/stream' },
        sender,
      );
    for (let n = 0; n < 8; n++) expect(await open(n)).toMatchObject({ ok: true });
    expect(await open(8)).toMatchObject({ ok: false });
    expect(await open(9, { ...MAIN, document: 'd2' })).toMatchObject({ ok: true });
  });
});
