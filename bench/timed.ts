import { readFileSync } from 'node:fs';

/** Clock ticks of `/proc/self/stat` per second. */
const TICKS = 100;

/** Seconds and CPU seconds of some work, with the programs that it ran. */
export async function timed<T>(
  work: () => Promise<T>,
): Promise<{ value: T; cost: { seconds: number; cpuSeconds: number } }> {
  const [startMs, startTicks] = [performance.now(), ticks()];
  const value = await work();
  const seconds = Number(((performance.now() - startMs) / 1_000).toFixed(1));
  return { value, cost: { seconds, cpuSeconds: (ticks() - startTicks) / TICKS } };
}

/** CPU of this process and of the programs that it ran (fields 14 to 17 of proc_pid_stat(5)). */
function ticks(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
}
