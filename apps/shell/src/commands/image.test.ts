import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { createFakeShell, MAIN } from '../testing/fake-backend.ts';
import { readPng } from './read-png.ts';

/** Two by two pixels: red and green, then blue and white; each row has its own filter. */
function png({
  type = 2,
  rows = [Buffer.of(1, 255, 0, 0, 1, 255, 0), Buffer.of(2, 1, 0, 255, 255, 0, 255)],
} = {}) {
  const chunk = (name: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const header = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, type, 0, 0, 0]);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.concat(rows)))]);
}

describe('a PNG', () => {
  test('is decoded with its filters undone', () => {
    const image = readPng(png());
    expect(image).toMatchObject({ width: 2, height: 2 });
    expect([...(image?.rgba ?? [])]).toEqual([
      255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255,
    ]);
  });

  test.each([
    ['another file', Buffer.from('GIF89a and more than thirty-three bytes of it')],
    ['nothing', Buffer.alloc(0)],
    ['a palette', png({ type: 3 })],
    ['fewer rows than it says', png({ rows: [Buffer.of(0, 1, 2, 3, 4, 5, 6)] })],
    [
      'more rows than it says',
      png({ rows: Array.from({ length: 9 }, () => Buffer.of(0, 1, 2, 3, 4, 5, 6)) }),
    ],
    [
      'a filter that does not exist',
      png({ rows: [Buffer.of(9, 1, 2, 3, 4, 5, 6), Buffer.of(0, 1, 2, 3, 4, 5, 6)] }),
    ],
    ['a cut end', png().subarray(0, 50)],
  ])('with %s is refused', (_, bytes) => {
    expect(readPng(bytes)).toBeNull();
  });
});

describe('images of a page', () => {
  test('belong to its webview, which can close them', async () => {
    const permissions = ['core:image:default', 'core:resources:default'];
    const { call } = await createFakeShell({ identifier: 'i', windows: ['*'], permissions });
    const id = await call('core:image:from-bytes', { bytes: png().toString('base64') });
    expect(id).toEqual({ ok: true, value: 1 });
    expect(await call('core:image:size', { id: 1 })).toEqual({ ok: true, value: { width: 2, height: 2 } });
    expect(await call('core:image:size', { id: 1 }, { ...MAIN, webview: 'other' })).toMatchObject({
      ok: false,
    });
    expect(await call('core:resources:close', { id: 1 })).toMatchObject({ ok: true });
    expect(await call('core:image:rgba', { id: 1 })).toMatchObject({ ok: false });
  });

  test('are read only from folders of the scope, and not at all without a scope', async () => {
    using folder = tmpDir();
    const [inside, outside] = [join(folder.path, 'icons'), join(folder.path, 'icons-of-others')];
    for (const path of [inside, outside]) {
      mkdirSync(path);
      writeFileSync(join(path, 'a.png'), png());
    }
    symlinkSync(join(outside, 'a.png'), join(inside, 'link.png'));
    const scoped = { identifier: 'core:image:allow-from-path', allow: [{ folder: inside }] };
    const { call } = await createFakeShell({ identifier: 'i', windows: ['main'], permissions: [scoped] });
    const read = (path: string) => call('core:image:from-path', { path });
    expect(await read(join(inside, 'a.png'))).toMatchObject({ ok: true });
    for (const path of [
      join(outside, 'a.png'),
      join(inside, 'link.png'),
      `${inside}/../icons-of-others/a.png`,
      inside,
      '/dev/zero',
    ])
      expect(await read(path), path).toMatchObject({
        ok: false,
        error: expect.stringContaining('no such image'),
      });
    // A denied folder is denied under every name: through a link, or with dots in its path.
    const denied = join(inside, 'private');
    mkdirSync(denied);
    writeFileSync(join(denied, 'a.png'), png());
    symlinkSync(denied, join(folder.path, 'also-private'));
    for (const name of [denied, join(folder.path, 'also-private'), `${inside}/../icons/private`]) {
      const narrowed = { ...scoped, deny: [{ folder: name }] };
      const shell = await createFakeShell({ identifier: 'i', windows: ['main'], permissions: [narrowed] });
      const ask = (path: string) => shell.call('core:image:from-path', { path });
      expect(await ask(join(denied, 'a.png')), name).toMatchObject({ ok: false });
      expect(await ask(join(inside, 'a.png')), name).toMatchObject({ ok: true });
    }
    const free = await createFakeShell({
      identifier: 'i',
      windows: ['main'],
      permissions: ['core:image:default'],
    });
    expect(await free.call('core:image:from-path', { path: join(inside, 'a.png') })).toMatchObject({
      ok: false,
    });
  });
});

test('paths are joined, split and resolved from the base folders as texts', async () => {
  const { call } = await createFakeShell({
    identifier: 'p',
    windows: ['main'],
    permissions: ['core:path:default'],
  });
  const value = (name: string, args: object) => call(`core:path:${name}`, args);
  expect(await value('join', { paths: ['/a', '../b', 'c.txt'] })).toEqual({ ok: true, value: '/b/c.txt' });
  expect(await value('extname', { path: '/b/c.txt' })).toEqual({ ok: true, value: 'txt' });
  expect(await value('basename', { path: '/b/c.txt', suffix: '.txt' })).toEqual({ ok: true, value: 'c' });
  expect(await value('resolve', { paths: ['x'] })).toEqual({ ok: true, value: '/home/olga/x' });
  expect(await value('resolve-directory', { directory: 'config' })).toEqual({
    ok: true,
    value: '/home/olga/.config',
  });
  expect(await value('resolve-directory', { directory: 'constructor' })).toMatchObject({ ok: false });
});
