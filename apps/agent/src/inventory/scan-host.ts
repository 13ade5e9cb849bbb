import type { Log } from '../platform/log.ts';
import type { RestartWatch } from '../restarts/restart-watch.ts';
import type { Inventory } from './inventory.ts';

/** Scans every ecosystem of the host, and looks for old code that still runs; what keeps a scan from being complete is in the log. */
export async function scanHost({
  inventory,
  restarts,
  log,
}: {
  inventory: Inventory;
  restarts: Pick<RestartWatch, 'refresh'>;
  log: Log;
}): Promise<void> {
  const { problems } = await inventory.scan(null);
  for (const problem of problems) log.warn('a scan is incomplete', { reason: problem });
  await restarts.refresh();
}
