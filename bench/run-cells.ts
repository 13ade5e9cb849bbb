import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { CellAnswer, CellOrder } from './cell-process.ts';
import { type Cell, minutesOf } from './cells.ts';
import { type Failure, oneMinuteLoad, type Point } from './record.ts';
import type { RoundOptions } from './scenario.ts';

/** A cell that takes so many times as long as it was planned for, and this besides, is ended. */
const TIMES_MAX = 6;
const BESIDES_MS = 300_000;

export interface Measured {
  points: Point[];
  failures: Failure[];
}

/**
 * Measures cell after cell, each in a process of its own: one that fails, hangs or ends loses nothing but itself. `onProgress` is told of all
 * results so far after each.
 */
export async function runCells(
  cells: readonly Cell[],
  { rounds, seconds, say }: RoundOptions,
  onProgress: (soFar: Measured) => void,
): Promise<Measured> {
  const soFar: Measured = { points: [], failures: [] };
  const missing = new Set<string>();
  for (const [n, cell] of cells.entries()) {
    const title = titleOf(cell);
    if (missing.has(cell.engine)) continue;
    const minutes = minutesOf(cell, rounds * seconds);
    say(`${n + 1} of ${cells.length}: ${title}, about ${minutes.toFixed(1)} minutes`);
    const loadBefore = oneMinuteLoad();
    const at = new Date().toISOString();
    const beganMs = performance.now();
    const answer = await runCell({ cell, rounds, seconds }, minutes * TIMES_MAX * 60_000 + BESIDES_MS);
    const tookSeconds = Math.round((performance.now() - beganMs) / 1_000);
    if ('missing' in answer) {
      say(`${cell.engine} is left out: ${answer.missing}`);
      missing.add(cell.engine);
      continue;
    }
    if ('fault' in answer) {
      const { scenario, engine, agents } = cell;
      soFar.failures.push({ scenario, engine, agents, why: answer.fault });
      say(`${title} FAILED after ${tookSeconds} s: ${answer.fault}`);
    } else {
      const load = { before: loadBefore, after: oneMinuteLoad() };
      const points = answer.figures.map((figure) => ({ ...figure, at, tookSeconds, load }));
      for (const point of points) say(JSON.stringify(point));
      soFar.points.push(...points);
    }
    onProgress(soFar);
  }
  return soFar;
}

/** What will be measured, and how long it takes, in a line each. */
export function planOf(cells: readonly Cell[], roundSeconds: number): string[] {
  const minutes = cells.map((cell) => minutesOf(cell, roundSeconds));
  const total = minutes.reduce((sum, one) => sum + one, 0);
  return [
    ...cells.map((cell, n) => `${minutes[n]?.toFixed(1).padStart(6)} minutes  ${titleOf(cell)}`),
    `${total.toFixed(1).padStart(6)} minutes in all, on two cores at rest`,
  ];
}

function titleOf({ scenario, engine, agents }: Cell): string {
  return `${scenario} on ${engine}, ${agents.toLocaleString('en')} agents`;
}

function runCell(order: CellOrder, timeoutMs: number): Promise<CellAnswer> {
  return new Promise((resolve) => {
    // A group of its own, so that its servers end with it.
    const child = fork(join(import.meta.dirname, 'cell-process.ts'), { detached: true });
    const endGroup = () => endAll(child.pid);
    let answer: CellAnswer | null = null;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      endGroup();
    }, timeoutMs);
    child.once('message', (message: CellAnswer) => {
      answer = message;
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      // A process that fell leaves its servers.
      endGroup();
      const late = `it was ended after ${Math.round(timeoutMs / 60_000)} minutes`;
      const fault = isLate ? late : `its process ended with ${code ?? signal}`;
      resolve(answer ?? { fault });
    });
    child.send(order);
  });
}

function endAll(groupId: number | undefined): void {
  if (groupId === undefined) return;
  try {
    process.kill(-groupId, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
