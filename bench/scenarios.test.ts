import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { runTool } from '@tidegate/testkit/run-tool';
import { expect, test } from 'vitest';
import type { Cell } from './cells.ts';
import { withTables } from './figure-tables.ts';
import { BASELINE, DOCUMENTS } from './keep.ts';
import { readRecord } from './record.ts';
import { type Measured, runCells } from './run-cells.ts';
import { slopeOf } from './slope.ts';

const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

const run = (...args: string[]) => runTool(process.execPath, [RUN, ...args], { env: compiledModules() });

async function bench(...args: string[]) {
  const output = await run(...args, '--engine', 'sqlite', '--json');
  return JSON.parse(output.trim().split('\n').at(-1) ?? '');
}

test('each scenario of the curve has its point', async () => {
  const agents = 10;
  const { points } = await bench('curve', '--sizes', String(agents), '--rounds', '1', '--seconds', '0.5');
  const of = (scenario: string) => ({ server: 'tidegate on sqlite', scenario, agents });
  expect(points).toMatchObject(['check-in', 'enrolment', 'fan-out', 'live-output'].map(of));
  // Of few requests the CPU may be less than the tick by which Linux counts it.
  for (const { helloUs, perSecond, p99Ms } of points)
    expect(Math.min(helloUs, perSecond, p99Ms)).toBeGreaterThan(0);
});

test('a scenario that fails says why, and those after it are measured all the same', async () => {
  // More sockets than a process may have open; this is refused before a fleet is made.
  const cells: Cell[] = [
    { scenario: 'connections', engine: 'sqlite', agents: 5_000_000 },
    { scenario: 'check-in', engine: 'sqlite', agents: 10 },
  ];
  const heard: string[] = [];
  const told: Measured[] = [];
  const { points, failures } = await runCells(
    cells,
    { rounds: 1, seconds: 0.2, say: (line) => void heard.push(line) },
    ({ points, failures }) => void told.push({ points: [...points], failures: [...failures] }),
  );
  expect(failures).toMatchObject([{ scenario: 'connections', engine: 'sqlite', agents: 5_000_000 }]);
  expect(failures[0]?.why).toContain('raise ulimit -n');
  expect(points).toMatchObject([{ scenario: 'check-in', agents: 10, load: { before: expect.any(Number) } }]);
  expect(told.map((one) => [one.points.length, one.failures.length])).toEqual([
    [0, 1],
    [1, 1],
  ]);
  expect(heard.join('\n')).toContain('connections on sqlite, 5,000,000 agents FAILED');
});

test('the full set is planned with its time', async () => {
  const { plan } = JSON.parse(await run('full', '--plan', '--engine', 'postgres'));
  expect(plan).toContainEqual(
    expect.stringMatching(/[\d.]+ minutes {2}check-in on postgres, 500,000 agents$/),
  );
  expect(plan.at(-1)).toMatch(/[\d.]+ minutes in all/);
  expect(plan.join()).not.toContain('sqlite');
});

test('the tables of the documents are those of the baseline', () => {
  const { points } = readRecord(BASELINE);
  for (const name of DOCUMENTS) {
    const text = readFileSync(join(import.meta.dirname, '..', name), 'utf8');
    expect(text).toContain('<!-- figures: ');
    // Fails after a change of bench/baseline.json: npm run bench -- keep
    expect(text).toBe(withTables(text, points));
  }
});

test('a soak that is too short to judge its memory tells of it and of open files', async () => {
  const { sqlite } = await bench('soak', '--agents', '5', '--minutes', '0.1');
  expect(sqlite).toMatchObject({ filesBefore: expect.any(Number), filesAfter: expect.any(Number) });
  expect(sqlite.liveMb).toBeGreaterThan(10);
});

test('an unknown scenario gets the usage', async () => {
  await expect(run('curve', '--scenarios', 'check-in,tide')).rejects.toThrow('Usage: npm run bench');
});

test('the slope is that of most pairs, whatever one sample says', () => {
  const rising = Array.from({ length: 20 }, (_, at) => ({ at, value: 100 + 3 * at }));
  const one = rising.map(({ at, value }) => ({ at, value: at === 7 ? 1_000 : value }));
  expect(slopeOf(one)).toBeCloseTo(3);
  expect(slopeOf(rising.map(({ at }) => ({ at, value: 100 })))).toBe(0);
  expect(slopeOf(rising.slice(0, 1))).toBeNaN();
});
