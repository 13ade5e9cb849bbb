import type { Runtime } from '../commands/runtime.ts';

/** Scans every ecosystem of the host; what keeps a scan from being complete is in the log. */
export async function scanHost({ inventory, log }: Pick<Runtime, 'inventory' | 'log'>): Promise<void> {
  const { problems } = await inventory.scan(null);
  for (const problem of problems) log.warn('a scan is incomplete', { reason: problem });
}
