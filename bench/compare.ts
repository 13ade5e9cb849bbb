import type { Point, RunRecord } from './record.ts';

/** A point may cost so many times the ratio of the baseline: one process differs from the next by a tenth. */
const ALLOWED = 1.25;

/** Compares the ratios to the hello, point by point, and says in a line each what changed. */
export function compareRecords(now: RunRecord, baseline: RunRecord): { lines: string[]; worse: number } {
  const before = new Map(baseline.points.map((point) => [keyOf(point), point]));
  const judged = now.points.map((point) => {
    const old = before.get(keyOf(point));
    const what = `${point.server}, ${point.scenario}, ${point.agents.toLocaleString('en')} agents`;
    if (!old)
      return { isWorse: false, line: `${what}: ${point.cpuRatio} times the hello, not in the baseline` };
    const factor = point.cpuRatio / old.cpuRatio;
    const isWorse = factor > ALLOWED;
    const verdict = isWorse ? 'dearer than allowed' : 'within the bound';
    return {
      isWorse,
      line: `${what}: ${point.cpuRatio} times the hello, ${old.cpuRatio} in the baseline: ${factor.toFixed(2)}, ${verdict}`,
    };
  });
  return { lines: judged.map(({ line }) => line), worse: judged.filter(({ isWorse }) => isWorse).length };
}

/** What two points of one measurement have in common. */
export function keyOf({ server, scenario, agents }: Point): string {
  return JSON.stringify([server, scenario, agents]);
}
