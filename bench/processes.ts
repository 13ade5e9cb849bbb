import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { compiledModules } from '@tidegate/testkit/compile-cache';

/** The core of the measured servers, and the core of the load. */
export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

const isPinned = availableParallelism() > 1 && hasTaskset();

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['-p', String(process.pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Keeps this process off the core of the servers. Returns whether that was possible. */
export function pinLoad(): boolean {
  if (isPinned)
    execFileSync('taskset', ['-acp', String(LOAD_CORE), String(process.pid)], { stdio: 'ignore' });
  return isPinned;
}

export interface ServerProcess {
  pid: number;
  url: string;
  stop(): Promise<void>;
}

export interface ServerOptions {
  env?: Record<string, string>;
  nodeFlags?: readonly string[];
  /** As taskset names them; default: the core of the servers. */
  cores?: string;
}

/** Starts a Node program on the core of the servers; it is ready once it prints a line with `url=`. */
export async function startServerProcess(
  file: string,
  { env = {}, nodeFlags = [], cores = String(SERVER_CORE) }: ServerOptions = {},
): Promise<ServerProcess> {
  const node = [process.execPath, ...nodeFlags, file];
  const [command = '', ...args] = isPinned ? ['taskset', '-c', cores, ...node] : node;
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH ?? '', ...compiledModules(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await readUrl(child);
  if (child.pid === undefined) throw new Error(`${file} did not start`);
  return {
    pid: child.pid,
    url,
    stop: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

function readUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return reject(new Error('the server has no output to read'));
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /url=(https?:\S+)/.exec(line)?.[1];
      if (url) resolve(url);
    });
  });
}

/** Linux counts CPU time in ticks of 10 ms. */
const TICK_US = 10_000;

/** CPU time that a process has used so far, in microseconds. */
export function cpuOf(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** CPU time of the main thread of a process, in milliseconds with fractions. */
function threadTimeOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
}

/** CPU time of all threads of a process, in microseconds with fractions. */
export function cpuOfThreads(pid: number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce(
    (sum, thread) =>
      sum + Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e3,
    0,
  );
}

/** The main-thread CPU time of each current child of a process, by its id. */
function threadTimesOfChildren(pid: number): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const child of readdirSync('/proc')) {
    if (!/^\d+$/.test(child) || parentOf(child) !== pid) continue;
    try {
      times.set(child, threadTimeOf(Number(child)));
    } catch {
      // The child has ended meanwhile.
    }
  }
  return times;
}

/** The processes that this one has started and that run still. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

/**
 * CPU of a server's main thread and of PostgreSQL's processes. Each call starts a measurement and returns a function that gives the
 * milliseconds since then.
 */
export function cpuClock(server: number, postmaster: number | null): () => () => number {
  const ofDatabase = () =>
    postmaster === null ? new Map<string, number>() : threadTimesOfChildren(postmaster);
  return () => {
    const [before, children] = [threadTimeOf(server), ofDatabase()];
    return () =>
      ofDatabase()
        .entries()
        .reduce((sum, [pid, ms]) => sum + ms - (children.get(pid) ?? 0), threadTimeOf(server) - before);
  };
}

/** CPU time of a process and of its current and former children, in microseconds. */
export function cpuOfFamily(pid: number): number {
  const own = statOf(pid);
  const ended = (Number(own[13]) + Number(own[14])) * TICK_US;
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
  return children.reduce((sum, child) => sum + cpuOfChild(Number(child)), cpuOf(pid) + ended);
}

/** The time of a child that has ended is included in that of its parent. */
function cpuOfChild(pid: number): number {
  try {
    return cpuOf(pid);
  } catch {
    return 0;
  }
}

function parentOf(pid: string): number {
  try {
    return Number(statOf(Number(pid))[1]);
  } catch {
    return -1; // it has ended meanwhile
  }
}

/** The fields of /proc/pid/stat after the name, which may contain spaces: state is the first. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Resident memory in kilobytes: all, with shared pages divided among their users, and without mapped files. */
export function memoryOf(pid: number): { rssKb: number; pssKb: number; anonymousKb: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { rssKb: read('Rss'), pssKb: read('Pss'), anonymousKb: read('Anonymous') };
}

/** The highest resident memory since the start, in kilobytes. */
export function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2;
}
