import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { keepTail } from './keep-tail.ts';
import { plainEnd } from './plain-text.ts';

/** Where programs are looked for, whatever PATH the agent was started with. */
export const PROGRAM_FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;
/** Maximum stderr kept, in bytes. */
const ERRORS_MAX_BYTES = 256 * 1024;
/** How long a program may take to end after it was asked to, before it is killed. */
const KILL_AFTER_MS = 10_000;
/** How long output is still read after a program has ended. */
const DRAIN_MS = 1_000;

export interface ProgramCall {
  /** A bare name, looked for in `PROGRAM_FOLDERS`, or an absolute path. */
  program: string;
  args: readonly string[];
  timeoutMs: number;
  maxOutputBytes: number;
  /**
   * What happens when there is more output than `maxOutputBytes`: the program is stopped and the call fails, as
   * partial output must never be parsed; or only the end is kept, as verbose output must not abort an
   * installation. `fail` unless given.
   */
  onOverflow?: 'fail' | 'keep_tail';
  /** Added to the clean environment. Nothing is inherited. */
  env?: Readonly<Record<string, string>>;
  /** Only root can choose another user; supplementary groups are dropped. */
  identity?: Identity | null;
  cwd?: string;
  /** Kills what it has left running in its process group when it ends. Not for installations, which start services. */
  endsGroup?: boolean;
  /** Receives both streams as they are written, in order of arrival. Must not throw. */
  onOutput?: OutputListener | undefined;
}

export type OutputListener = (chunk: Uint8Array) => void;

export interface Identity {
  uid: number;
  gid: number;
}

export type ProgramResult =
  | { ok: true; stdout: string; stderr: string }
  | {
      ok: false;
      reason: ProgramFailure;
      detail: string;
      exitCode: number | null;
      stdout: string;
      stderr: string;
    };

export type ProgramFailure = 'not_found' | 'not_started' | 'failed' | 'timed_out' | 'output_too_large';

/**
 * Runs a program to its end: no shell, standard input closed, a clean environment. Never throws for what a program
 * does; every end but exit code 0 is a failure with the program's own words in `detail`.
 */
export async function runProgram(call: ProgramCall): Promise<ProgramResult> {
  const nothing = { exitCode: null, stdout: '', stderr: '' };
  const path = await findProgram(call.program);
  if (path === null) {
    return { ok: false, reason: 'not_found', detail: `${call.program} is not installed`, ...nothing };
  }
  return new Promise((resolve) => {
    const child = spawn(path, [...call.args], {
      cwd: call.cwd ?? '/',
      env: {
        PATH: PROGRAM_FOLDERS.join(':'),
        HOME: '/',
        LC_ALL: 'C',
        TZ: 'UTC',
        DEBIAN_FRONTEND: 'noninteractive',
        ...call.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a separate process group, so that a timeout also ends child processes
      ...call.identity,
    });
    const keepsTail = call.onOverflow === 'keep_tail';
    const output = keepTail(call.maxOutputBytes);
    const errors = keepTail(ERRORS_MAX_BYTES);
    let stopped: 'timed_out' | 'output_too_large' | null = null;
    let killer: NodeJS.Timeout | undefined;
    let drain: NodeJS.Timeout | undefined;

    const stop = (reason: 'timed_out' | 'output_too_large') => {
      if (stopped !== null) return;
      stopped = reason;
      signal(child.pid, 'SIGTERM');
      killer = setTimeout(() => signal(child.pid, 'SIGKILL'), KILL_AFTER_MS);
    };
    const timer = setTimeout(() => stop('timed_out'), call.timeoutMs);

    child.stdout.on('data', (chunk: Buffer) => {
      output.add(chunk);
      call.onOutput?.(chunk);
      if (output.dropped() > 0 && !keepsTail) stop('output_too_large');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors.add(chunk);
      call.onOutput?.(chunk);
      if (keepsTail) output.add(chunk); // both streams, in order of arrival
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      clearTimeout(killer);
      resolve({ ok: false, reason: 'not_started', detail: `${call.program}: ${error.message}`, ...nothing });
    });
    // A service started by a maintainer script may keep the pipes open forever: only the program's exit counts.
    child.once('exit', () => {
      clearTimeout(timer); // what it left behind must not make it late, and its number may be another's by now
      clearTimeout(killer);
      if (call.endsGroup === true) signal(child.pid, 'SIGKILL');
      drain = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, DRAIN_MS);
    });
    child.once('close', (exitCode, endedBy) => {
      clearTimeout(timer);
      clearTimeout(killer);
      clearTimeout(drain);
      const texts = { stdout: textOf(output.bytes()), stderr: textOf(errors.bytes()) };
      if (stopped !== null) {
        const what = stopped === 'timed_out' ? `took over ${call.timeoutMs} ms` : 'said too much';
        resolve({ ok: false, reason: stopped, detail: `${call.program} ${what}`, exitCode, ...texts });
      } else if (exitCode === 0) {
        resolve({ ok: true, ...texts });
      } else {
        const detail = `${call.program} ended with ${endedBy ?? exitCode}: ${lastWords(texts)}`;
        resolve({ ok: false, reason: 'failed', detail, exitCode, ...texts });
      }
    });
  });
}

/** The absolute path of a program, or null; a relative path is never looked up. */
export async function findProgram(name: string): Promise<string | null> {
  const candidates = name.startsWith('/') ? [name] : PROGRAM_FOLDERS.map((folder) => join(folder, name));
  if (!name.startsWith('/') && name.includes('/')) return null;
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return candidate;
  }
  return null;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function textOf(bytes: Buffer): string {
  return new StringDecoder('utf8').end(bytes);
}

function signal(pid: number | undefined, name: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** The errors of a program, or else the end of its output: what a human is told. */
function lastWords({ stdout, stderr }: { stdout: string; stderr: string }): string {
  const said = stderr.trim() === '' ? stdout : stderr;
  return plainEnd(said.trim().split('\n').slice(-5).join('; ').slice(-2_000), 1_000);
}
