import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allowedCommands } from '@tidegate/capability';
import { expect, test } from 'vitest';
import { loadCapabilities } from './capability-files.ts';
import { apiCommands } from './console/api-commands.ts';
import { createEventHub } from './core/event-hub.ts';
import { createFakeShell, MAIN } from './testing/fake-backend.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples/capabilities');
const OWN = join(import.meta.dirname, '../capabilities');
const CALLER = { window: 'main', webview: 'main', origin: 'local' } as const;

/** The shell with one of the examples, over a server that accepts every request. */
async function shellWith(file: string) {
  const connection = {
    request: async () => ({ status: 200, headers: {}, body: '' }),
    open: () => new Promise<never>(() => {}),
  };
  const commands = apiCommands(
    connection,
    createEventHub(() => {}),
    new AbortController().signal,
  );
  const shell = await createFakeShell(readFileSync(join(EXAMPLES, file), 'utf8'), commands);
  const ask = (method: string, path: string, sender = MAIN) =>
    shell.call('api-request', { method, path, headers: {}, body: null }, sender);
  return { ...shell, ask };
}
const rulesOf = (path: string) => {
  const loaded = loadCapabilities([path], 'linux');
  if (!loaded.ok) throw new Error(loaded.detail);
  expect(loaded.warnings).toEqual([]);
  return loaded.acl;
};

test('every example has a test here', () => {
  expect(readdirSync(EXAMPLES).toSorted()).toEqual(['console.toml', 'more-windows.json', 'read-only.toml']);
});

test("console.toml: grants the same as the shell's own file", async () => {
  const [own, example] = [rulesOf(OWN), rulesOf(join(EXAMPLES, 'console.toml'))];
  expect(allowedCommands(example, CALLER)).toEqual(allowedCommands(own, CALLER));
  expect(allowedCommands(own, CALLER).toSorted()).toEqual([
    ...['api-request', 'api-stream-close', 'api-stream-open'],
    ...['core:app:version', 'core:event:listen', 'core:event:unlisten', 'file-save'],
  ]);
  expect(allowedCommands(own, { ...CALLER, window: 'other', webview: 'other' })).toEqual([]);
  expect(allowedCommands(own, { ...CALLER, origin: 'https://updates.example.org/' })).toEqual([]);
  const { ask } = await shellWith('console.toml');
  expect(await ask('POST', '/api/v1/updates/x/approve')).toMatchObject({ ok: true });
});

test('read-only.toml: allows reading, but no changes and no administration', async () => {
  const { ask } = await shellWith('read-only.toml');
  expect(await ask('GET', '/api/v1/updates')).toMatchObject({ ok: true });
  expect(await ask('GET', '/api/health')).toMatchObject({ ok: true });
  expect(await ask('POST', '/api/v1/updates/x/approve')).toMatchObject({ ok: false });
  expect(await ask('POST', '/api/v1/auth/login')).toMatchObject({ ok: false });
  expect(await ask('GET', '/api/v1/admin/operators')).toMatchObject({ ok: false });
});

test('more-windows.json: only the first window can open others', async () => {
  const { call, ask } = await shellWith('more-windows.json');
  expect(await call('core:window:create', { label: 'page-1', path: '/hosts' })).toMatchObject({ ok: true });
  const page = { ...MAIN, window: 'page-1', webview: 'page-1', document: 'd2' };
  expect(await ask('GET', '/api/v1/updates', page)).toMatchObject({ ok: true });
  expect(await call('core:window:create', { label: 'page-2', path: '/' }, page)).toMatchObject({ ok: false });
  expect(await call('core:window:close', { label: 'page-1' })).toMatchObject({ ok: true });
  expect(await call('core:webview:clear-all-browsing-data')).toMatchObject({ ok: false });
});

test('an invalid file stops the start, with its name and the fault', () => {
  expect(loadCapabilities([import.meta.filename], 'linux')).toMatchObject({
    ok: false,
    detail: expect.stringContaining('examples.test.ts: '),
  });
  expect(loadCapabilities([OWN, join(OWN, 'console.json')], 'linux')).toMatchObject({
    ok: false,
    detail: expect.stringContaining('capability with identifier "console" already exists'),
  });
});
