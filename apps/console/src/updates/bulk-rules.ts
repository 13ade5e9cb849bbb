import type { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';

/** Updates that are rejected together: each is a request of its own. */
export const REJECT_MAX = 50;

/** What was selected: rows by their ids, or all that a filter means, as many as the list said. */
export type Chosen =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: Readonly<Record<string, string>>; readonly count: number };

export const sizeOf = (chosen: Chosen): number => (chosen.kind === 'ids' ? chosen.ids.length : chosen.count);

/** The request: no field of it is an override (A6). */
export function bulkBody(chosen: Chosen): Readonly<Record<string, unknown>> {
  return chosen.kind === 'ids'
    ? { update_ids: chosen.ids }
    : { filter: chosen.filter, confirm_count: chosen.count };
}

/** What came of it, in a sentence that is read out. */
export function outcomeText({
  approved,
  awaiting_plan: waiting,
  blocked,
  skipped,
}: BulkApproveAnswer): string {
  const parts = [
    `${approved.length} approved`,
    `${waiting.length} waiting for a plan`,
    `${blocked.length} blocked`,
    `${skipped.length} skipped`,
  ];
  return parts.join(', ');
}

/** What an update is called where only its id came back: known where it was on screen. */
export function nameOf(id: string, known: ReadonlyMap<string, UpdateItem>): string {
  const update = known.get(id);
  return update ? `${update.name} on ${update.hostname}` : `update ${id.slice(0, 8)}`;
}
