import type { Log } from '../platform/log.ts';
import type { Inventory } from './inventory.ts';

/** Scans every ecosystem of the host; what keeps a scan from being complete is in the log. */
export async function scanHost({ inventory, log }: { inventory: Inventory; log: Log }): Promise<void> {
  const { problems } = await inventory.scan(null);
  for (const problem of problems) log.warn('a scan is incomplete', { reason: problem });
}
