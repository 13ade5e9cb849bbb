import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Herd, HerdOptions } from './herd-agents.ts';

/**
 * Agents of one process: an agent has at most one connection, and a process has to be able to open one for each where its server
 * does not answer.
 */
const AGENTS_OF_PROCESS = 16_000;

/** A herd from as many processes as their limits of open files ask for, on the cores of this one. */
export async function runHerds({ agents, ...options }: Omit<HerdOptions, 'firstIndex'>): Promise<Herd> {
  const parts: Promise<Herd>[] = [];
  for (let n = 0; n < agents.length; n += AGENTS_OF_PROCESS) {
    const part = agents.slice(n, n + AGENTS_OF_PROCESS);
    parts.push(runPart({ ...options, agents: part, firstIndex: n }));
  }
  return merged(await Promise.all(parts));
}

function runPart(options: HerdOptions): Promise<Herd> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, 'herd-process.ts'));
    child.once('message', (herd: Herd) => resolve(herd));
    child.once('exit', (code) => reject(new Error(`a process of the herd ended with ${code}`)));
    child.send(options);
  });
}

function merged(herds: readonly Herd[]): Herd {
  const refused: Record<string, number> = {};
  const requestsPerSecond: number[] = [];
  for (const herd of herds) {
    for (const [what, count] of Object.entries(herd.refused)) refused[what] = (refused[what] ?? 0) + count;
    for (const [second, count] of herd.requestsPerSecond.entries())
      requestsPerSecond[second] = (requestsPerSecond[second] ?? 0) + (count ?? 0);
  }
  return {
    backMs: herds.flatMap(({ backMs }) => backMs),
    refused,
    requestsPerSecond,
    lost: herds.reduce((sum, { lost }) => sum + lost, 0),
  };
}
