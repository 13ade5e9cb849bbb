import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, describe, expect, test } from 'vitest';
import { saveConfig } from './config-file.ts';
import { holdInstanceLock } from './instance-lock.ts';
import { configOf } from './testing/agent-config.ts';
import { createFleet } from './testing/fleet.ts';
import { type FleetServer, startFleetServer } from './testing/fleet-server.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const started: ChildProcess[] = [];
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) await kill(child);
  for (const stop of stops.splice(0)) await stop();
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Starts a process and collects what it says; `ended` is its exit code. */
function start(command: readonly string[], ...args: string[]) {
  const [program = '', ...before] = command;
  const child = spawn(program, [...before, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  started.push(child);
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close').then(([code]): unknown => code);
  return { child, ended, said: () => said };
}

/** An enrolled folder and a server that tells of each check-in. */
async function enrolled() {
  const fleet = createFleet(Date.now());
  const server: FleetServer = await startFleetServer(fleet);
  const folder = tmpDir();
  stops.push(server.stop, folder.remove);
  const machineFile = join(folder.path, 'machine-id');
  writeFileSync(machineFile, fleet.machineId);
  saveConfig(
    folder.path,
    configOf(fleet, { server_url: server.url, machine_id_source: `file:${machineFile}`, ecosystems: [] }),
  );
  let seen = Promise.withResolvers<void>();
  server.override = (path) => {
    if (path === 'check-in') seen.resolve();
    return null;
  };
  const nextCheckIn = () => {
    seen = Promise.withResolvers<void>();
    return seen.promise;
  };
  return { folder: folder.path, server, nextCheckIn };
}

test('a folder is locked once in a process, and free again when released', async () => {
  using folder = tmpDir();
  const first = await holdInstanceLock(folder.path);
  expect(first.ok).toBe(true);
  expect(await holdInstanceLock(folder.path)).toMatchObject({ ok: false, reason: 'held' });
  if (first.ok) first.lock.release();
  const again = await holdInstanceLock(folder.path);
  expect(again.ok).toBe(true);
  if (again.ok) again.lock.release();
});

test('a lock that cannot be made is an error, not a lock', async () => {
  expect(await holdInstanceLock('/nowhere/at/all')).toMatchObject({ ok: false, reason: 'unavailable' });
});

async function expectOneInstance(command: readonly string[]): Promise<void> {
  const { folder, nextCheckIn, server } = await enrolled();
  let checkedIn = nextCheckIn();
  const first = start(command, 'run', '--config', folder);
  await checkedIn;
  const before = server.received('check-in').length;
  for (const args of [['run'], ['run', '--once']]) {
    const second = start(command, ...args, '--config', folder);
    expect(await second.ended).toBe(1);
    expect(second.said()).toContain('another agent process is running');
  }
  expect(server.received('check-in')).toHaveLength(before);

  first.child.kill('SIGKILL');
  await first.ended;
  checkedIn = nextCheckIn();
  const third = start(command, 'run', '--config', folder);
  await checkedIn;
  third.child.kill('SIGTERM');
  expect(await third.ended).toBe(0);
}

describe('a second process on one configuration exits at once, and kill -9 frees the lock (section 5)', () => {
  test('under Node', () => expectOneInstance([process.execPath, '--no-warnings', main]));

  test('as the compiled binary', async () => {
    using folder = tmpDir();
    const binary = join(folder.path, 'tidegate-agent');
    const build = start([process.execPath, join(root, 'scripts/build-agent.ts')], '--outfile', binary);
    expect([await build.ended, build.said()]).toEqual([0, '']);
    expect(existsSync(binary)).toBe(true);
    await expectOneInstance([binary]);
  });
});
