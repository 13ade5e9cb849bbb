import type { BenchOptions } from './run.ts';
export async function benchAgent(_: BenchOptions): Promise<unknown> {
  return null;
}
