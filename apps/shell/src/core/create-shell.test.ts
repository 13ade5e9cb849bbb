import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createFakeShell, MAIN } from '../testing/fake-backend.ts';
import { done } from './commands.ts';

const capability = (permissions: unknown[], more: object = {}) => ({
  ...{ identifier: 'story', windows: ['main'], permissions },
  ...more,
});
const refused = (command: string) => ({ ok: false, error: `Command "${command}" not allowed by ACL` });

describe('a call', () => {
  test('R8: runs if a capability allows it', async () => {
    const { call } = await createFakeShell(capability(['core:app:allow-version']));
    expect(await call('core:app:version')).toEqual({ ok: true, value: '0.2.0' });
  });

  test("R8: is refused without a capability, even for the shell's own commands, and does nothing", async () => {
    const calls: string[] = [];
    const own = {
      'api-request': () => {
        calls.push('api-request');
        return done();
      },
    };
    const { call, performed, lines } = await createFakeShell(capability([]), own);
    for (const command of ['core:window:close', 'api-request', 'core:nothing', 'toString', '__proto__'])
      expect(await call(command)).toEqual(refused(command));
    expect([performed, calls]).toEqual([[], []]);
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^\[SECURITY\] \[shell\] call_refused command=core:window:close window=main/);
  });

  test.each([
    ['another window', { ...MAIN, window: 'other', webview: 'other' }],
    ['a remote origin', { ...MAIN, origin: 'https://evil.example/' }],
  ])('R8: is refused to %s, which the capability does not name', async (_, sender) => {
    const { call, shell } = await createFakeShell(capability(['core:app:allow-version']));
    await shell.openWindow('other', { title: '', width: 1, height: 1, path: '/' });
    expect(await call('core:app:version', {}, sender)).toEqual(refused('core:app:version'));
  });

  test('R8: is refused everywhere once an active capability denies it', async () => {
    const files = [
      capability(['core:app:allow-version']),
      { identifier: 'deny', permissions: ['core:app:deny-version'] },
    ];
    const { call } = await createFakeShell(files);
    expect(await call('core:app:version')).toEqual(refused('core:app:version'));
  });

  test('R8: is refused if its permission has a scope that the command does not read', async () => {
    const entry = { identifier: 'core:app:allow-version', deny: [{ anything: 1 }] };
    const { call, lines } = await createFakeShell(capability([entry]));
    expect(await call('core:app:version')).toEqual(refused('core:app:version'));
    expect(lines.join('')).toContain('this command knows none');
  });

  test('gets an error if the backend does not support it, and if it does not exist', async () => {
    const { call, state } = await createFakeShell(
      capability(['core:menu:default', 'core:window:allow-center', 'allow-nothing-here']),
    );
    const unsupported = {
      ok: false,
      error: 'Command core:menu:new is not supported on this backend (chromium)',
    };
    expect(await call('core:menu:new')).toEqual(unsupported);
    state.outcome = { kind: 'unsupported' };
    expect(await call('core:window:center')).toMatchObject({
      error: 'Command core:window:center is not supported on this backend (chromium)',
    });
    expect(await call('nothing-here')).toEqual({ ok: false, error: 'Command nothing-here not found' });
  });

  test('acts on the window that sent it or the one it names; never on a missing one', async () => {
    const { call, performed } = await createFakeShell(capability(['core:window:allow-center']));
    await call('core:window:center');
    expect(await call('core:window:center', { label: 'nowhere' })).toMatchObject({ ok: false });
    expect(performed).toEqual(['core:window:center main null']);
  });

  test.each([
    ['more members', '{"id":1,"command":"core:app:version","args":{},"window":"admin"}'],
    ['no id', '{"command":"core:app:version","args":{}}'],
    ['no JSON', 'core:app:version'],
    ['a list', '[]'],
  ])('with %s is not a call and gets no reply', async (_, body) => {
    const { events, delivered, lines } = await createFakeShell(capability(['core:app:allow-version']));
    events.message(MAIN, body);
    expect(delivered).toEqual([]);
    expect(lines.join('')).toContain('message_dropped webview=main');
  });

  test('of a closed window gets no reply', async () => {
    const { events, shell, delivered } = await createFakeShell(capability(['core:app:allow-version']));
    events.windowClosed('main');
    events.message(MAIN, '{"id":1,"command":"core:app:version","args":{}}');
    await nextTurn();
    expect(delivered).toEqual([]);
    expect(await shell.ended).toBe('the last window was closed');
  });
});

test('a page that floods is ignored beyond its budget and does not flood the log', async () => {
  const { events, delivered, lines, clock, call } = await createFakeShell(capability([]));
  for (let id = 1; id <= 5_000; id++)
    events.message(MAIN, JSON.stringify({ id, command: 'core:app:version', args: {} }));
  await expect.poll(() => delivered.length).toBeGreaterThan(0);
  expect(delivered.length).toBeLessThanOrEqual(400);
  expect(lines.length).toBeLessThanOrEqual(100);
  clock.now += 1_000;
  expect(await call('core:app:version')).toEqual(refused('core:app:version'));
});

test('a webview has a limited number of open calls', async () => {
  const never = { slow: () => new Promise<never>(() => {}) };
  const { call, events } = await createFakeShell(capability(['allow-slow']), never);
  for (let id = 1; id <= 64; id++)
    events.message(MAIN, JSON.stringify({ id: id + 1_000, command: 'slow', args: {} }));
  expect(await call('slow')).toEqual({ ok: false, error: 'Too many calls at a time' });
});

describe('windows', () => {
  const all = capability([
    'core:window:allow-create',
    'core:window:allow-set-badge-count',
    'core:window:allow-title',
  ]);

  test('are created with a unique label and a path of the shell, up to a limit', async () => {
    const { call, performed } = await createFakeShell(all);
    for (const [label, path] of [
      ['main', '/'],
      ['a b', '/'],
      ['two', 'https://evil.example/'],
      ['two', '//evil.example/'],
      ['two', '/\\evil.example'],
    ])
      expect(await call('core:window:create', { label, path })).toMatchObject({ ok: false });
    expect(performed).toEqual([]);
    for (let n = 1; n < 32; n++)
      expect(await call('core:window:create', { label: `w${n}`, path: '/' })).toMatchObject({ ok: true });
    expect(await call('core:window:create', { label: 'last', path: '/' })).toMatchObject({ ok: false });
  });

  test('have the title of their document, after the number of pending updates', async () => {
    const { call, events, performed } = await createFakeShell(all);
    await call('core:window:set-badge-count', { value: 3 });
    events.titleChanged('main', 'Updates');
    events.titleChanged('main', '(3) Updates (fake)');
    await call('core:window:set-badge-count', { value: 0 });
    expect(performed).toEqual([
      'core:window:set-title main "(3) Main"',
      'core:window:set-title main "(3) Updates (fake)"',
      'core:window:set-title main "Updates (fake)"',
    ]);
    expect(await call('core:window:title')).toEqual({ ok: true, value: 'Updates (fake)' });
  });
});

describe('events', () => {
  const all = capability(['core:event:default']);

  test('reach current listeners only', async () => {
    const { call, delivered } = await createFakeShell(all);
    expect(await call('core:event:listen', { event: 'x' })).toEqual({ ok: true, value: 1 });
    delivered.length = 0;
    await call('core:event:emit', { event: 'x', payload: 7 });
    expect(delivered[0]).toEqual({ to: 'd1', text: '{"listener":1,"event":"x","payload":7}' });
    await call('core:event:unlisten', { event: 'x', id: 1 });
    delivered.length = 0;
    await call('core:event:emit-to', { event: 'x', target: 'main' });
    expect(delivered).toHaveLength(1); // only the reply
  });

  test('a listener cannot be removed by another document, and their number is limited', async () => {
    const { call, delivered } = await createFakeShell(capability(['core:event:default'], { windows: ['*'] }));
    await call('core:event:listen', { event: 'x' });
    await call('core:event:unlisten', { event: 'x', id: 1 }, { ...MAIN, document: 'd2' });
    delivered.length = 0;
    await call('core:event:emit', { event: 'x' });
    expect(delivered).toHaveLength(2);
    for (let n = 1; n < 256; n++) await call('core:event:listen', { event: 'x' }, MAIN).catch(() => {});
    expect(await call('core:event:listen', { event: 'x' })).toMatchObject({ ok: false });
  });
});
