import { setTimeout } from 'node:timers/promises';

/** A server that uses less CPU than this within the window has nothing to do. */
const REST_CPU_US = process.env.TIDEGATE_BENCH_PROFILE === undefined ? 20_000 : 200_000; // a profiler samples always
const REST_WINDOW_MS = 1_000;

/**
 * A newly started server first counts the badges of all updates and indexes the vulnerabilities of all hosts, which is not part of
 * what is measured. `cpuUs` is the CPU time of the server so far, in microseconds.
 */
export async function atRest(cpuUs: () => number): Promise<void> {
  for (let used = Number.POSITIVE_INFINITY; used > REST_CPU_US; ) {
    const before = cpuUs();
    await setTimeout(REST_WINDOW_MS);
    used = cpuUs() - before;
  }
}
