import type { GateReport } from '@tidegate/protocol/approvals-api';
import type { UpdateDetail } from '@tidegate/protocol/updates-api';
import { oneQuery } from '../api/queries.ts';

/** An update with the gate's current report; null if the gate reports nothing. */
export type UpdateView = Omit<UpdateDetail, 'gate'> & { readonly gate: GateReport | null };

export const updateQuery = (id: string) => oneQuery<UpdateView>('updates', `/api/v1/updates/${id}`);
