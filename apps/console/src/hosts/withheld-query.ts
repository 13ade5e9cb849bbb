import type { HostWithheld } from '@tidegate/protocol/holds-api';
import { oneQuery } from '../api/queries.ts';

/** What keeps a host as it is; it changes with its updates and with holds. */
export function withheldQuery(agentId: string) {
  return oneQuery<HostWithheld>('updates', `/api/v1/agents/${encodeURIComponent(agentId)}/withheld`);
}
