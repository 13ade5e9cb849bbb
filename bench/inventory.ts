import type { BenchOptions } from './run.ts';
export async function benchInventory(_: BenchOptions): Promise<unknown> {
  return null;
}
