import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { describe, expect, onTestFinished, test } from 'vitest';
import { agentFor } from './harness/agent-user.ts';
import { startChild } from './harness/child.ts';
import { storyMissing } from './harness/world.ts';

const missing = storyMissing();

/** As root uses it on a host: the compiled agent, without a server. */
describe.skipIf(missing !== null)('probes and hooks at the shell of a host', () => {
  function scene() {
    // Root runs nothing from a folder below one that others can change.
    const folder = mkdtempSync('/run/tidegate-story-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    chmodSync(folder, 0o755);
    for (const name of ['probes.d', 'hooks.d', 'hooks.d/before'])
      mkdirSync(join(folder, name), { mode: 0o755 });
    const policy = join(folder, 'policy.json');
    writeFileSync(policy, JSON.stringify({ v: 1 }), { mode: 0o644 });
    const write = (name: string, content: object | string) => {
      const path = join(folder, name);
      const text = typeof content === 'string' ? content : JSON.stringify({ v: 1, ...content });
      writeFileSync(path, text, { mode: 0o644 });
      return path;
    };
    const agent = async (command: string, ...args: string[]) => {
      const binary = agentFor(null, folder);
      const words = [command, '--policy', policy, ...args];
      const child = startChild(binary, words, { env: { PATH: SYSTEM_PATH, TMPDIR: '/tmp' } });
      const { code } = await child.ended;
      return { code, lines: [...child.stdout, ...child.stderr] };
    };
    return { folder, write, agent };
  }

  test('without any, says that root has named none', async () => {
    const it = scene();
    expect(await it.agent('probes', '--state', join(it.folder, 'state'))).toEqual({
      code: 0,
      lines: ['root has named no probes on this host'],
    });
  });

  test('runs each and shows what came of it; one that is not green is a failure', async () => {
    const it = scene();
    it.write('probes.d/web.json', { kind: 'program', program: '/usr/bin/true' });
    expect(await it.agent('probes', '--state', join(it.folder, 'state'))).toEqual({
      code: 0,
      lines: ['green    web  program'],
    });
    it.write('probes.d/db.json', { kind: 'program', program: '/usr/bin/false' });
    const { code, lines } = await it.agent('probes', '--state', join(it.folder, 'state'));
    expect([code, lines[0]]).toEqual([1, 'tidegate-agent: not every probe is green']);
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^red {6}db {3}program {7}exit status 1/),
      'green    web  program',
    ]);
  });

  test('a file that cannot be used is unknown, and both commands say what is wrong with it', async () => {
    const it = scene();
    const loose = it.write('probes.d/loose.json', { kind: 'program', program: '/usr/bin/true' });
    chmodSync(loose, 0o666);
    const other = it.write('probes.d/other.json', { kind: 'program', program: '/usr/bin/true' });
    chownSync(other, 65_534, 65_534);
    it.write('probes.d/broken.json', '{ "v": 1, ');
    it.write('probes.d/odd.json', { kind: 'program', program: 'true' });
    it.write('probes.d/more.json', { kind: 'program', program: '/usr/bin/true', shell: true });
    const faults = [
      ['broken', /it is not valid JSON/],
      ['loose', /has mode 0666, which lets others use it/],
      ['more', /\/shell is no member here/],
      ['odd', /\/program /],
      ['other', /belongs to user 65534, not to 0/],
    ] as const;
    const { code, lines } = await it.agent('probes', '--state', join(it.folder, 'state'));
    expect(code).toBe(1);
    for (const [name, fault] of faults) {
      const line = lines.find((one) => one.includes(` ${name} `)) ?? '';
      expect(line).toMatch(/^unknown /);
      expect(line).toMatch(fault);
    }
    const doctor = await it.agent('doctor', '--config', join(it.folder, 'agent'));
    for (const [name, fault] of faults) {
      const line =
        doctor.lines.find((one) => one.includes(`${name} is unknown to all who wait for it`)) ?? '';
      expect(line).toMatch(fault);
    }
  });

  test('doctor says that a hook which cannot run stops installations', async () => {
    const it = scene();
    it.write('hooks.d/before/backup.json', { program: join(it.folder, 'backup') });
    const before = await it.agent('doctor', '--config', join(it.folder, 'agent'));
    const line = (lines: readonly string[]) => lines.find((one) => one.includes('hooks before')) ?? '';
    expect(line(before.lines)).toMatch(/backup: .*; nothing is installed until root has mended it/);
    writeFileSync(join(it.folder, 'backup'), '#!/bin/sh\n', { mode: 0o755 });
    const after = await it.agent('doctor', '--config', join(it.folder, 'agent'));
    expect(line(after.lines)).toMatch(/backup$/);
  });
});
