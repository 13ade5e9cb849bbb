import type { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { ApiError } from '../api/client.ts';

/** Updates that are rejected together: each is a request of its own. */
export const REJECT_MAX = 50;

/** What was selected: rows by their ids, or all that a filter means, as many as the list said. */
export type Chosen =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: Readonly<Record<string, string>>; readonly count: number };

export const sizeOf = (chosen: Chosen): number => (chosen.kind === 'ids' ? chosen.ids.length : chosen.count);

/** The request: no field of it is an override (A6). */
export function bulkBody(chosen: Chosen, progressId: string): Readonly<Record<string, unknown>> {
  const what =
    chosen.kind === 'ids'
      ? { update_ids: chosen.ids }
      : { filter: chosen.filter, confirm_count: chosen.count };
  return { ...what, progress_id: progressId };
}

/** Where an answer was lost and the server knows nothing of the request. */
export const UNHEARD = new ApiError({
  status: 404,
  code: 'not_found',
  message: 'The server knows nothing of the request: nothing was approved by it. It can be sent once more.',
});

export function isUnheard(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not_found';
}

/** Whether a request may have been carried out although no answer of our server says so. */
export function isAnswerLost(error: unknown): boolean {
  // Not ours, or cut off in its middle (then it is not even an answer); a refusal in our own words is an answer.
  if (!(error instanceof ApiError)) return error instanceof TypeError;
  return error.code === 'unreachable' || (error.status >= 500 && error.code !== 'unavailable');
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

/** A UUID of random bits, also where the page is not served securely and `randomUUID` is not there. */
export function uuidOf(bytes: Uint8Array): string {
  const [version, variant] = [((bytes[6] ?? 0) & 0x0f) | 0x40, ((bytes[8] ?? 0) & 0x3f) | 0x80];
  const hex = [...bytes.slice(0, 16)]
    .map((byte, i) => (i === 6 ? version : i === 8 ? variant : byte).toString(16).padStart(2, '0'))
    .join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
