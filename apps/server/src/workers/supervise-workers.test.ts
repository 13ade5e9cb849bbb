import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../platform/log.ts';
import type { Now, Report, Start } from './messages.ts';
import { ENDS_MAX, superviseWorkers, WorkersFault } from './supervise-workers.ts';

const START: Omit<Start, 'worker' | 'port'> = {
  ...{ kind: 'start', processes: 3, host: '127.0.0.1', dataDir: '', databaseUrl: null, socket: '' },
  ...{ accessTokens: '', agentCacheMb: 1, minAgentVersion: null, logLevel: 'info', logFormat: 'text' },
  ...{ hasMetrics: false, isEncrypted: true, logSlowRequestMs: 0 },
};
const NOW: Now = {
  ...{ kind: 'now', state: '{}', isDraining: false },
  budget: { requests: 1, windowSeconds: 1, enabled: true },
};
/** Tells what it hears by the ids of agents in a report. */
const ECHO = `
  const connections = { open: 0, waiting: 0, max: null, ended: { answered: 0, waiting: 0 } };
  const facts = { connections, cpuSeconds: 0, residentBytes: 0 };
  const tell = (id) =>
    process.send({ kind: 'report', checkIns: [[id, process.pid, 60, null]], tookMs: [], refused: [], facts });
  process.on('message', (m) => {
    if (m.kind === 'start') process.send({ kind: 'listening' });
    if (m.kind === 'certificate') tell('certificate ' + m.cert + ', ' + m.ticketKey);
    if (m.kind === 'watch') tell('watch ' + m.agentIds);
    if (m.kind === 'now') tell('now ' + m.isDraining);
    if (m.kind === 'stop') process.exit(0);
  });
  process.on('disconnect', () => process.exit(0));`;

function supervise(program: string, { count = 2, tellMs }: { count?: number; tellMs?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-workers-'));
  const path = join(folder, 'program.mjs');
  writeFileSync(path, program);
  const reports: Report[] = [];
  let certificate = { cert: 'first', key: 'key', ticketKey: 'a ticket key' };
  let moved: string[] = [];
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLog({ level: 'info', format: 'text', now: () => 0, write });
  const workers = superviseWorkers({
    ...{ log, count, program: pathToFileURL(path), now: async () => NOW },
    ...(tellMs !== undefined && { tellMs }),
    startOf: (worker, port) => ({ ...START, worker, port }),
    certificate: () => certificate,
    take(report) {
      reports.push(report);
      const named = moved;
      moved = [];
      return named;
    },
  });
  onTestFinished(async () => {
    await workers.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const heard = () => reports.flatMap(({ checkIns }) => checkIns.map(([id]) => id));
  const pids = () => [...new Set(reports.flatMap(({ checkIns }) => checkIns.map(([, pid]) => pid)))];
  return {
    ...{ workers, lines, heard, pids },
    present: (cert: string) => {
      certificate = { cert, key: 'key', ticketKey: 'a ticket key' };
    },
    want: (agentIds: string[]) => {
      moved = agentIds;
    },
  };
}

test('workers listen, learn what changes, and are told of agents that moved', async () => {
  const { workers, heard, pids, present, want } = supervise(ECHO);
  expect(workers.areReady()).toBe(false);
  await workers.start(8080);
  expect(workers.areReady()).toBe(true);
  await expect.poll(() => pids().length).toBe(2);
  expect(heard().filter((one) => one === 'certificate first, a ticket key')).toHaveLength(2);
  present('second');
  want(['a', 'b']);
  workers.tell();
  await expect
    .poll(() => heard().filter((one) => one === 'certificate second, a ticket key'))
    .toHaveLength(2);
  await expect.poll(heard).toContain('watch a,b');
  expect(heard().filter((one) => one === 'certificate second, a ticket key')).toHaveLength(2);
  await workers.stop();
});

test('a worker that ends is started again, and until it listens not all are ready', async () => {
  const { workers, pids, lines } = supervise(ECHO);
  await workers.start(8080);
  await expect.poll(() => pids().length).toBe(2);
  process.kill(pids()[0] ?? 0, 'SIGKILL');
  await expect.poll(() => workers.areReady()).toBe(false);
  await expect.poll(() => workers.areReady()).toBe(true);
  await expect.poll(() => pids().length).toBe(3);
  expect(workers.restarts()).toBe(1);
  expect(lines.join('\n')).toMatch(/^\[ERROR\] a worker ended worker=[12] cause=SIGKILL in_a_row=1 /);
});

test('workers that keep ending are given up', async () => {
  const { workers, lines } = supervise('process.exit(7)', { count: 1 });
  await expect(workers.start(8080)).rejects.toThrow(WorkersFault);
  expect(await workers.lost).toBe('workers keep ending (the last one with status 7), see the lines before');
  expect(lines.filter((line) => line.includes('a worker ended'))).toHaveLength(ENDS_MAX);
});

test.each([
  ['hangs', '', 'a worker hangs and is killed worker=1'],
  [
    'says what none says',
    "process.send({ kind: 'report' });",
    'a worker said what none says, and is killed worker=1',
  ],
])('a worker that %s is killed, and another one started', async (_, act, line) => {
  const program = `process.once('message', () => { process.send({ kind: 'listening' }); ${act} }); setInterval(() => {}, 1000);`;
  const { workers, lines } = supervise(program, { count: 1, tellMs: 50 });
  await workers.start(8080);
  await expect.poll(() => lines.join('\n')).toContain(line);
  await expect.poll(() => workers.restarts()).toBeGreaterThan(0);
});

test('a worker gets no setting of the server', async () => {
  process.env.SERVICE_ADMIN_PASSWORD = 'a password';
  onTestFinished(() => void delete process.env.SERVICE_ADMIN_PASSWORD);
  const program = `${ECHO} process.on('message', () => tell(String(process.env.SERVICE_ADMIN_PASSWORD)));`;
  const { workers, heard } = supervise(program, { count: 1 });
  await workers.start(8080);
  await expect.poll(heard).toContain('undefined');
  expect(heard()).not.toContain('a password');
});
