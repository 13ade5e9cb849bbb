import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { AGENT_BINARY } from './agent-binary.ts';
import { type Ending, startChild } from './child.ts';

/**
 * The calls that make bytes durable or lose them. Faults are not injected at `write` but at the fchmod before or the
 * fsync after it: strace counts calls by thread, and every thread of the runtime writes to wake the others.
 */
const CALLS = ['fchmod', 'write', 'fsync', 'rename'] as const;

/** One system call of the agent on a file of its folder; `nth` counts the calls of that name in its thread. */
export type DiskCall = { name: (typeof CALLS)[number]; nth: number; on: string };

/** The injected fault at one call: it kills the process or fails the call. */
export type Injection = { at: DiskCall; how: 'SIGKILL' | 'ENOSPC' | 'EIO' };

export type TracedRun = Ending & { json: string; calls: DiskCall[] };

/** Why the agent cannot be traced here; null if it can. */
export function tracingMissing(): string | null {
  return findTool('strace') === null ? 'strace is not installed (package strace)' : null;
}

/** `run --once` of the compiled agent under strace(1), with at most one fault. */
export async function runTraced(
  folder: { configDir: string; traceDir: string },
  injection: Injection | null = null,
): Promise<TracedRun> {
  const log = join(folder.traceDir, 'trace');
  const fault = injection?.how === 'SIGKILL' ? 'signal=SIGKILL' : `error=${injection?.how}`;
  const { name, nth } = injection?.at ?? { name: 'fsync', nth: 0 };
  const child = startChild(
    'strace',
    [
      ...['-f', '-y', '-q', '-s', '0', '-o', log, '-e', `trace=${CALLS.join(',')}`],
      ...(injection === null ? [] : ['-e', `inject=${name}:${fault}:when=${nth}`]),
      ...[AGENT_BINARY, 'run', '--once', '--json', '--config', folder.configDir],
    ],
    { env: { PATH: SYSTEM_PATH, TMPDIR: '/tmp' } },
  );
  const ending = await child.ended;
  return {
    ...ending,
    json: child.stdout.at(-1) ?? '',
    calls: parseTrace(readFileSync(log, 'utf8'), folder.configDir),
  };
}

/** All calls in order; the call that a signal ended is the last of its thread. */
function parseTrace(text: string, configDir: string): DiskCall[] {
  const counts = new Map<string, number>();
  const found: DiskCall[] = [];
  for (const line of text.split('\n')) {
    const [, thread, called] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    const name = CALLS.find((known) => known === called);
    if (name === undefined) continue;
    const nth = (counts.get(`${thread} ${name}`) ?? 0) + 1;
    counts.set(`${thread} ${name}`, nth);
    const [path] = line.match(new RegExp(`${configDir}[^">]*`)) ?? [];
    if (path !== undefined)
      found.push({ name, nth, on: path.slice(configDir.length).replace(/[0-9a-f]{12}/, '*') });
  }
  return found;
}
