import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { array, assert, property, uint8Array } from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outputPath, readResult } from '../jobs/job-folder.ts';
import { createPlainText } from '../platform/plain-text.ts';
import { createJobWorld } from '../testing/job-world.ts';
import { CUT_HERE, HEAD_MAX_BYTES, LIVE_OUTPUT_MAX_BYTES, openLiveOutput } from './live-output.ts';

const nowMs = Date.now();
const readerGid = process.getegid?.() ?? 0;
let folder: ReturnType<typeof tmpDir>;
let id: string;
let path: string;
beforeEach(() => {
  folder = tmpDir();
  id = randomUUID();
  path = outputPath(folder.path, id);
});
afterEach(() => folder.remove());

const open = () => openLiveOutput(folder.path, id, { readerGid, nowMs });
const written = () => readFileSync(path, 'utf8');

function plain(bytes: Buffer): string {
  const text = createPlainText();
  return text.add(bytes) + text.end();
}

describe('the file of a live output', () => {
  test('has the output at once, and only its group may read it', () => {
    const output = open();
    output.write(Buffer.from('Unpacking \x1b[1mdemo\x1b[0m\n'));
    expect(written()).toBe('Unpacking demo\n');
    expect(lstatSync(path).mode & 0o777).toBe(0o640);
    output.close();
    output.write(Buffer.from('too late'));
    expect(written()).toBe('Unpacking demo\n');
  });

  test('holds all output within the limit as plain text, however it was chunked', () => {
    assert(
      property(array(uint8Array({ maxLength: 40 }), { maxLength: 10 }), (parts) => {
        rmSync(path, { force: true });
        const output = open();
        for (const part of parts) output.write(part);
        output.close();
        expect(written()).toBe(plain(Buffer.concat(parts)));
      }),
      { numRuns: 50 },
    );
  });

  test('past the limit it holds the beginning and the end, and marks the cut', () => {
    const output = open();
    const line = (n: number) => Buffer.from(`line ${n} é\xff${'.'.repeat(400)}\n`, 'utf8');
    let said = 0;
    for (let n = 0; said < 3 * LIVE_OUTPUT_MAX_BYTES; n++) {
      output.write(line(n));
      said += line(n).length;
    }
    expect(written().endsWith(CUT_HERE)).toBe(true);
    output.write(Buffer.from('E: the last words\n'));
    output.close();
    const [head = '', tail = ''] = written().split(CUT_HERE);
    expect(Buffer.byteLength(head)).toBeLessThanOrEqual(HEAD_MAX_BYTES);
    expect(head.startsWith('line 0 é')).toBe(true);
    expect(tail).toMatch(/^\[\d+ bytes are left out\]\nline \d+ é/);
    expect(tail.endsWith('E: the last words\n')).toBe(true);
    expect(lstatSync(path).size).toBeLessThanOrEqual(LIVE_OUTPUT_MAX_BYTES);
  });

  test('stays below its limit even if every byte becomes U+FFFD', () => {
    const output = open();
    for (let n = 0; n < 40; n++) output.write(Buffer.alloc(100_000, 0xff));
    output.close();
    expect(lstatSync(path).size).toBeLessThanOrEqual(LIVE_OUTPUT_MAX_BYTES);
    expect(written().isWellFormed()).toBe(true);
  });

  test.each([
    ['a symbolic link', (victim: string) => symlinkSync(victim, path)],
    ['a hard link', (victim: string) => linkSync(victim, path)],
    ['a file of before', () => writeFileSync(path, 'before')],
  ])('%s in its place is never written through: there is no view then', (_, plant) => {
    const victim = join(folder.path, 'victim');
    writeFileSync(victim, 'untouched');
    mkdirSync(dirname(path), { recursive: true });
    plant(victim);
    const before = { mode: lstatSync(victim).mode, text: written() };
    const output = open();
    output.write(Buffer.from('said'));
    output.close();
    expect({ mode: lstatSync(victim).mode, text: written() }).toEqual(before);
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
  });

  test('is one of a bounded number: a new one removes old ones', () => {
    mkdirSync(dirname(path), { recursive: true });
    for (let n = 0; n < 40; n++) {
      const old = outputPath(folder.path, randomUUID());
      writeFileSync(old, '');
      utimesSync(old, nowMs / 1_000 - n, nowMs / 1_000 - n);
    }
    open().close();
    expect(readdirSync(dirname(path))).toHaveLength(16);
    openLiveOutput(folder.path, randomUUID(), { readerGid, nowMs: nowMs + 8 * 24 * 3_600_000 }).close();
    expect(readdirSync(dirname(path))).toHaveLength(1);
  });

  test('that cannot be created fails no installation', () => {
    writeFileSync(join(folder.path, 'output'), 'no folder');
    const output = open();
    output.write(Buffer.from('said'));
    output.close();
  });
});

describe('an installation', () => {
  test('sends its output while it runs, and no link in the spool is followed', async () => {
    using world = createJobWorld();
    const victim = join(world.folder, 'victim');
    writeFileSync(victim, 'untouched');
    const job = world.leaveJob();
    if (process.getuid?.() === 0) chownSync(job, 54_321, 54_321); // whoever left it may follow it
    const commandId = job.split('/').at(-1) ?? '';
    const file = outputPath(world.stateFolder, commandId);
    for (const name of ['output', 'output.log', `${commandId}.log`]) symlinkSync(victim, join(job, name));
    let heard = '';
    const { install } = world;
    world.install = async (given, onOutput) => {
      onOutput?.(Buffer.from('Setting up demo\n'));
      heard = readFileSync(file, 'utf8');
      return install(given);
    };
    expect(await world.failureOf(job)).toBeNull();
    expect(heard).toBe('Setting up demo\n');
    expect(lstatSync(file)).toMatchObject({ gid: lstatSync(job).gid, uid: process.getuid?.() });
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
  });

  test.skipIf(process.getuid?.() !== 0)(
    'is heard by whoever left the job, who may change nothing, and by no other user',
    async () => {
      using world = createJobWorld();
      const job = world.leaveJob();
      for (const path of [world.folder, world.stateFolder]) chmodSync(path, 0o755);
      const [agent, other] = [54_321, 54_322];
      chownSync(job, agent, agent);
      world.install = async (_, onOutput) => {
        onOutput?.(Buffer.from('Setting up demo\n'));
        return { ok: true, installed: [], output: '' };
      };
      expect(await world.failureOf(job)).toBeNull();
      const file = outputPath(world.stateFolder, job.split('/').at(-1) ?? '');
      const as = (id: number, script: string) =>
        spawnSync('/bin/sh', ['-c', script, 'sh', file], { uid: id, gid: id, encoding: 'utf8' });
      expect(as(agent, 'cat "$1"')).toMatchObject({ status: 0, stdout: 'Setting up demo\n' });
      for (const script of ['echo x >> "$1"', 'rm -f "$1"', 'ln -s /etc/passwd "$1.link"']) {
        expect(as(agent, script).status, script).not.toBe(0);
      }
      expect(as(other, 'cat "$1"').status).not.toBe(0);
      expect(readFileSync(file, 'utf8')).toBe('Setting up demo\n');
    },
  );

  test('whose output contains characters that JSON here forbids still has a readable result', async () => {
    using world = createJobWorld();
    const job = world.leaveJob();
    const output = `${'😀'.repeat(40_000)}a\0b\ud800\x1b[1mc`;
    world.install = async () => ({
      ...{ ok: false, reason: 'install_failed', exitCode: 1 },
      ...{ detail: `${'x'.repeat(3_983)}😀\0`, output },
    });
    expect(await world.failureOf(job)).toBe('install_failed');
    const read = readResult(world.stateFolder, job.split('/').at(-1) ?? '', process.geteuid?.() ?? null);
    expect(read?.result.output_tail?.endsWith('😀ab\ufffdc')).toBe(true);
    expect(read?.result.output_tail?.length).toBe(65_536);
  });

  test('that did not start has no output', async () => {
    using world = createJobWorld();
    world.simulated = [];
    const job = world.leaveJob();
    expect(await world.failureOf(job)).toBe('plan_drift');
    expect(readdirSync(world.stateFolder)).not.toContain('output');
  });
});
