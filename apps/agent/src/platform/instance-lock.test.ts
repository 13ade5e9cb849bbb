import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, describe, expect, test } from 'vitest';
import { saveConfig } from '../identity/config-file.ts';
import { configOf } from '../testing/agent-config.ts';
import { createFleet } from '../testing/fleet.ts';
import { type FleetServer, startFleetServer } from '../testing/fleet-server.ts';
import { holdInstanceLock } from './instance-lock.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const main = fileURLToPath(new URL('../main.ts', import.meta.url));
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
    configOf(fleet, {
      ...{ server_url: server.url, machine_id_source: `file:${machineFile}`, ecosystems: [] },
      // A start waits at random for up to an interval.
      polling: { check_in_seconds: 1, scan_seconds: 3_600 },
    }),
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

test('the lock file of a process that is gone does not block, whatever it holds', async () => {
  using folder = tmpDir();
  writeFileSync(join(folder.path, 'agent.lock'), `${process.pid}\n`, { mode: 0o600 });
  const held = await holdInstanceLock(folder.path);
  expect(held.ok).toBe(true);
  if (held.ok) held.lock.release();
});

/** Takes the lock, starts a child that lives on, and tells its id. */
const HOLDER = `
import { spawn } from 'node:child_process';
import { holdInstanceLock } from '${new URL('./instance-lock.ts', import.meta.url)}';
const held = await holdInstanceLock(process.argv.at(-1));
const child = spawn('sleep', ['600'], { stdio: 'ignore' });
process.stdout.write(String(held.ok ? child.pid : held.detail) + '\\n');
setInterval(() => {}, 60_000);
`;
const bun = `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}/bin/bun`;

test.each([
  ['Node', () => [process.execPath, '--no-warnings', '--input-type=module', '-e', HOLDER]],
  ['Bun, which the compiled agent is', () => [createRequire(import.meta.url).resolve(bun), '-e', HOLDER]],
])('a child that outlives its killed parent does not keep the lock (%s)', async (_, command) => {
  using folder = tmpDir();
  const [program = '', ...args] = command();
  const holder = spawn(program, [...args, folder.path], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(holder);
  const [said] = await once(holder.stdout.setEncoding('utf8'), 'data');
  const child = Number(said);
  expect(child).toBeGreaterThan(1);
  expect(await holdInstanceLock(folder.path)).toMatchObject({ ok: false, reason: 'held' });
  await kill(holder);
  const held = await holdInstanceLock(folder.path);
  const childIsAlive = process.kill(child, 0);
  process.kill(child, 'SIGKILL');
  expect([held.ok, childIsAlive]).toEqual([true, true]);
  if (held.ok) held.lock.release();
});

const STORM_ROUNDS = process.env.TIDEGATE_LONG === '1' ? 10_000 : 2_000;
const probe = fileURLToPath(new URL('../testing/lock-storm-probe.ts', import.meta.url));

test.skipIf(process.platform === 'win32').each([
  ['Node', () => [process.execPath, '--no-warnings', probe]],
  ['Bun', () => [createRequire(import.meta.url).resolve(bun), probe]],
])('a lock that was released is free at once while programs are started (%s)', async (_, command) => {
  using folder = tmpDir();
  const [program = '', ...args] = command();
  const storm = spawn(program, [...args, folder.path, String(STORM_ROUNDS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(storm);
  const told = JSON.parse(await text(storm.stdout));
  expect(told).toEqual({ programs: expect.any(Number), refusals: 0, first: null });
  expect(told.programs).toBeGreaterThan(0);
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
