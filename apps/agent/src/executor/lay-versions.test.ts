import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readLayout } from '../ecosystems/tidegate/layout.ts';
import { addInstalled } from '../testing/own-agent-world.ts';
import { switchLink } from './agent-versions.ts';
import { layVersions } from './lay-versions.ts';

let dir: ReturnType<typeof tmpDir>;
beforeEach(() => {
  dir = tmpDir();
});
afterEach(() => dir.remove());

function lay(version: string, program = 'usr/bin/tidegate-agent') {
  const at = (path: string) => join(dir.path, path);
  mkdirSync(at('usr/bin'), { recursive: true });
  return layVersions({
    ...{ program: at(program), version },
    ...{ folder: at('usr/lib/tidegate-agent'), command: at('usr/bin/tidegate-agent') },
    ...{ units: at('etc/systemd/system'), configFolder: '/var/lib/tidegate-agent' },
  });
}

test('a program that was unpacked becomes the version in use, and the command a link to the proven one', () => {
  const command = join(dir.path, 'usr/bin/tidegate-agent');
  mkdirSync(join(dir.path, 'usr/bin'), { recursive: true });
  writeFileSync(command, 'program 0.1.0', { mode: 0o755 });
  expect(lay('0.1.0')).toEqual({ ok: true });
  expect(readlinkSync(command)).toBe('../lib/tidegate-agent/proven');
  const place = join(dir.path, 'usr/lib/tidegate-agent/versions/0.1.0/tidegate-agent');
  expect(realpathSync(command)).toBe(realpathSync(place));
  expect([readFileSync(place, 'utf8'), lstatSync(place).mode & 0o777]).toEqual(['program 0.1.0', 0o755]);
  const dropIn = join(dir.path, 'etc/systemd/system/tidegate-agent.service.d/side-by-side.conf');
  expect(readFileSync(dropIn, 'utf8')).toContain(
    `ExecStart=\nExecStart=${join(dir.path, 'usr/lib/tidegate-agent/agent')} run --config /var/lib/tidegate-agent\n`,
  );
  // Again, through the link: nothing is lost.
  expect(lay('0.1.0')).toEqual({ ok: true });
  expect(readFileSync(command, 'utf8')).toBe('program 0.1.0');
});

test('root goes back to a version that lies beside the one in use by running that version', () => {
  const command = join(mkdirAt('usr/bin'), 'tidegate-agent');
  writeFileSync(command, 'program 0.1.0');
  lay('0.1.0');
  const folder = join(dir.path, 'usr/lib/tidegate-agent');
  addInstalled(folder, '0.2.0');
  for (const link of ['agent', 'proven'] as const) switchLink(folder, link, '0.2.0');
  expect(readFileSync(command, 'utf8')).not.toBe('program 0.1.0');
  expect(lay('0.1.0', 'usr/lib/tidegate-agent/versions/0.1.0/tidegate-agent')).toEqual({ ok: true });
  expect(readLayout(folder)).toEqual({ ok: true, layout: { running: '0.1.0', proven: '0.1.0' } });
  expect(readFileSync(command, 'utf8')).toBe('program 0.1.0');
  expect(existsSync(join(folder, 'versions/0.2.0/tidegate-agent'))).toBe(true);
});

test('nothing is laid out while a version is on trial, or for what is no version', () => {
  writeFileSync(join(mkdirAt('usr/bin'), 'tidegate-agent'), 'program 0.1.0');
  lay('0.1.0');
  expect(lay('../../etc')).toEqual({ ok: false, detail: '../../etc is no version of a release' });
  const folder = join(dir.path, 'usr/lib/tidegate-agent');
  addInstalled(folder, '0.2.0');
  switchLink(folder, 'agent', '0.2.0');
  expect(lay('0.3.0')).toEqual({
    ok: false,
    detail: 'version 0.2.0 is on trial: try again when it has ended',
  });
  expect(readLayout(folder)).toEqual({ ok: true, layout: { running: '0.2.0', proven: '0.1.0' } });
});

function mkdirAt(path: string): string {
  mkdirSync(join(dir.path, path), { recursive: true });
  return join(dir.path, path);
}
