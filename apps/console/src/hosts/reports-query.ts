import type { ReportItem } from '@tidegate/protocol/inventory-api';
import { oneQuery } from '../api/queries.ts';

/** The newest report of each package manager of a host. */
export function reportsQuery(id: string) {
  return oneQuery<{ reports: readonly ReportItem[] }>('hosts', `/api/v1/agents/${id}/inventory?limit=1`);
}
