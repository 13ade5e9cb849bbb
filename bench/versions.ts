import fc from 'fast-check';
import { dpkgOrder } from '../packages/versions/src/dpkg.ts';
import { npmOrder } from '../packages/versions/src/npm.ts';
import type { Order } from '../packages/versions/src/order.ts';
import type { Ecosystem } from '../packages/versions/src/osv-ecosystems.ts';
import { pypiOrder } from '../packages/versions/src/pypi.ts';
import { rpmOrder } from '../packages/versions/src/rpm.ts';
import { groupsOf } from '../packages/versions/src/testing/generated-versions.ts';
import { compareVersions } from '../packages/versions/src/versions.ts';
import type { BenchOptions } from './run.ts';

const PAIRS = 5_000;
/** Every run uses the same pairs, so that runs can be compared. */
const SEED = 4;

/** Comparisons per second of one core for each order: from text, and of versions parsed before. */
export async function benchVersions({ rounds, seconds, say }: BenchOptions): Promise<Record<string, number>> {
  const candidates = [
    ...candidatesOf('npm', npmOrder),
    ...candidatesOf('pypi', pypiOrder),
    ...candidatesOf('apt', dpkgOrder),
    ...candidatesOf('dnf', rpmOrder),
  ];
  const perSecond = new Map<string, number[]>();
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, compareAll } of candidates) {
      const found = measure(compareAll, seconds * 1_000);
      perSecond.set(name, [...(perSecond.get(name) ?? []), found]);
      say(`round ${round}: ${name} ${found} comparisons/s`);
    }
  }
  return Object.fromEntries([...perSecond].map(([name, all]) => [name, median(all)]));
}

interface Candidate {
  readonly name: string;
  /** Compares every pair once and returns their number. */
  readonly compareAll: () => number;
}

function candidatesOf<Parsed>(ecosystem: Ecosystem, order: Order<Parsed>): Candidate[] {
  const groups = fc.sample(groupsOf(ecosystem, 2), { numRuns: PAIRS, seed: SEED });
  const texts = groups.map(([a = '', b = '']) => ({ a, b }));
  const parsed = texts.flatMap(({ a, b }) => {
    const [left, right] = [order.parse(a), order.parse(b)];
    return left === null || right === null ? [] : [{ left, right }];
  });
  return [
    {
      name: `${ecosystem} text`,
      compareAll() {
        for (const { a, b } of texts) compareVersions(ecosystem, a, b);
        return texts.length;
      },
    },
    {
      name: `${ecosystem} parsed`,
      compareAll() {
        for (const { left, right } of parsed) order.compare(left, right);
        return parsed.length;
      },
    },
  ];
}

/** Measured in CPU time of all threads, which other work on the machine changes little. */
function measure(compareAll: () => number, forMs: number): number {
  const endMs = performance.now() + forMs;
  const before = process.cpuUsage();
  let compared = 0;
  while (performance.now() < endMs) compared += compareAll();
  const { user, system } = process.cpuUsage(before);
  return Math.round((compared / (user + system)) * 1_000_000);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
