import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeShell, MAIN } from '../testing/fake-backend.ts';
import { fileCommands } from './file-commands.ts';

const WHOLE = { isFirst: true, isLast: true };

async function createScene(permissions = ['allow-file-save']) {
  const home = tmpDir('tidegate-shell-home-');
  onTestFinished(() => home.remove());
  const folder = join(home.path, 'Downloads');
  const clock = { now: 0 };
  const commands = fileCommands({ folder, now: () => clock.now });
  const shell = await createFakeShell({ identifier: 'files', windows: ['main'], permissions }, commands);
  const save = (args: object, sender = MAIN) => shell.call('file-save', args, sender);
  return { folder, clock, save };
}

describe('a file that a page saves', () => {
  test('is written to the downloads folder, readable by its owner only, and its path is returned', async () => {
    const { folder, save } = await createScene();
    const name = 'events.csv';
    expect(await save({ name, text: 'a,', isFirst: true, isLast: false })).toEqual({ ok: true, value: null });
    expect(await save({ name, text: 'b\ud83c', isFirst: false, isLast: false })).toEqual({
      ok: true,
      value: null,
    });
    expect(readdirIfThere(folder)).toEqual([]);
    const path = join(folder, name);
    expect(await save({ name, text: '\udf0a\n', isFirst: false, isLast: true })).toEqual({
      ok: true,
      value: path,
    });
    expect(readFileSync(path, 'utf8')).toBe('a,b\ud83c\udf0a\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('replaces no other file and follows no link', async () => {
    const { folder, save } = await createScene();
    mkdirSync(folder);
    writeFileSync(join(folder, 'events.csv'), 'mine');
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'events (1).csv'));
    const answer = await save({ name: 'events.csv', text: 'new', ...WHOLE });
    expect(answer).toEqual({ ok: true, value: join(folder, 'events (2).csv') });
    expect(readFileSync(join(folder, 'events.csv'), 'utf8')).toBe('mine');
    expect(readdirSync(folder).toSorted()).toEqual(['events (1).csv', 'events (2).csv', 'events.csv']);
  });

  test.each([
    '../events.csv',
    '/etc/events.csv',
    '.bashrc',
    'events',
    'run.sh',
    'start.desktop',
    'a\u0000.csv',
    '-rf.csv',
    `${'n'.repeat(200)}.csv`,
  ])('cannot be named %j', async (name) => {
    const { folder, save } = await createScene();
    expect(await save({ name, text: 'x', ...WHOLE })).toMatchObject({ ok: false });
    expect(readdirIfThere(folder)).toEqual([]);
  });

  test('is sent piece by piece, by one document and one file at a time', async () => {
    const { folder, save } = await createScene();
    const first = { name: 'a.csv', text: 'x', isFirst: true, isLast: false };
    const last = { ...first, isFirst: false, isLast: true };
    expect(await save(last)).toMatchObject({ ok: false, error: expect.stringContaining('no beginning') });
    expect(await save(first)).toMatchObject({ ok: true });
    expect(await save({ ...last, name: 'b.csv' })).toMatchObject({ ok: false });
    expect(await save(first)).toMatchObject({ ok: true });
    expect(await save(last, { ...MAIN, document: 'd2' })).toMatchObject({ ok: false });
    expect(readdirIfThere(folder)).toEqual([]);
  });

  test('has a maximum size, and a larger one is discarded', async () => {
    const { folder, save } = await createScene();
    const piece = { name: 'a.csv', text: 'x'.repeat(300_000), isFirst: false, isLast: false };
    expect(await save({ ...piece, isFirst: true })).toMatchObject({ ok: true });
    let answer: unknown;
    for (let n = 0; n < 120 && JSON.stringify(answer ?? { ok: true }).includes('"ok":true'); n++)
      answer = await save(piece);
    expect(answer).toMatchObject({ ok: false, error: expect.stringContaining('32 MB') });
    expect(await save({ ...piece, isLast: true })).toMatchObject({ ok: false });
    expect(readdirIfThere(folder)).toEqual([]);
  });

  test('is discarded if it stays unfinished while others are started, as after a closed window', async () => {
    const { save } = await createScene();
    const piece = { name: 'a.csv', text: 'x', isFirst: true, isLast: false };
    const of = (n: number) => ({ ...MAIN, webview: `w${n}` });
    for (let n = 0; n < 5; n++) expect(await save(piece, of(n))).toMatchObject({ ok: true });
    const last = { ...piece, isFirst: false, isLast: true };
    expect(await save(last, of(0))).toMatchObject({ ok: false });
    for (let n = 1; n < 5; n++) expect(await save(last, of(n))).toMatchObject({ ok: true });
  });

  test('counts against a limit of ten at once and two a minute', async () => {
    const { folder, clock, save } = await createScene();
    const one = (n: number) => save({ name: `${n}.json`, text: '{}', ...WHOLE });
    for (let n = 0; n < 10; n++) expect(await one(n)).toMatchObject({ ok: true });
    expect(await one(10)).toMatchObject({ ok: false, error: expect.stringContaining('too many') });
    clock.now = 30_000;
    expect(await one(11)).toMatchObject({ ok: true });
    expect(await one(12)).toMatchObject({ ok: false });
    expect(readdirSync(folder)).toHaveLength(11);
  });

  test('that cannot be written returns the reason', async () => {
    const { folder, save } = await createScene();
    writeFileSync(folder, 'a file where the folder should be');
    const answer = await save({ name: 'a.csv', text: 'x', ...WHOLE });
    expect(answer).toMatchObject({
      ok: false,
      error: expect.stringMatching(/cannot be written.*EEXIST|ENOTDIR/),
    });
  });

  test('is refused to a window without the capability', async () => {
    const { folder, save } = await createScene(['allow-api-request']);
    const answer = await save({ name: 'a.csv', text: 'x', ...WHOLE });
    expect(answer).toEqual({ ok: false, error: 'Command "file-save" not allowed by ACL' });
    expect(readdirIfThere(folder)).toEqual([]);
  });
});

function readdirIfThere(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
