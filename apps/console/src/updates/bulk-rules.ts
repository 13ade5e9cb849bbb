import type { BulkApproveAnswer, BulkPreview } from '@tidegate/protocol/approvals-api';
import { counted } from '@tidegate/protocol/count-words';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { ApiError } from '../api/client.ts';

/** The most updates that are rejected together: each is a separate request. */
export const REJECT_MAX = 50;

/** The selection: rows by id, or everything that matches a filter, with the count that the list showed. */
export type Chosen =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly filter: Readonly<Record<string, string>>; readonly count: number };

export const sizeOf = (chosen: Chosen): number => (chosen.kind === 'ids' ? chosen.ids.length : chosen.count);

/** The request body; it has no field for an override (A6). */
export function bulkBody(chosen: Chosen, progressId: string): Readonly<Record<string, unknown>> {
  const what =
    chosen.kind === 'ids'
      ? { update_ids: chosen.ids }
      : { filter: chosen.filter, confirm_count: chosen.count };
  return { ...what, progress_id: progressId };
}

/** The same selection for a preview, which has no progress. */
export function previewBody(chosen: Chosen): Readonly<Record<string, unknown>> {
  const { progress_id: _, ...body } = bulkBody(chosen, '');
  return body;
}

/** What the preview shows as passing the gate; nothing until it is known. */
export function passingOf(preview: BulkPreview | undefined): Chosen {
  return { kind: 'ids', ids: preview?.sets.flatMap(({ update_ids: ids }) => ids) ?? [] };
}

/** `118 updates on 12 hosts: 12 transactions`. */
export function previewText({ updates, hosts, transactions }: BulkPreview): string {
  if (updates === 0) return 'Nothing of this can be approved now.';
  return `${counted(updates, 'update')} on ${counted(hosts, 'host')}: ${counted(transactions, 'transaction')}`;
}

/** The error for a request that the server never received. */
export const UNHEARD = new ApiError({
  status: 404,
  code: 'not_found',
  message: 'The server did not receive the request, so nothing was approved. You can send it again.',
});

export function isUnheard(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not_found';
}

/** Whether a request may have run although its response was lost. */
export function isAnswerLost(error: unknown): boolean {
  // A TypeError is a response that was cut off; a refusal by this server is a response.
  if (!(error instanceof ApiError)) return error instanceof TypeError;
  return error.code === 'unreachable' || (error.status >= 500 && error.code !== 'unavailable');
}

/** The result in a sentence, which is also read out. */
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

/** The updates that were on screen, by id. */
export type Known = ReadonlyMap<string, Pick<UpdateItem, 'name' | 'hostname'>>;

/** A random UUID, also over plain http, where `crypto.randomUUID` does not exist. */
export function uuidOf(bytes: Uint8Array): string {
  const [version, variant] = [((bytes[6] ?? 0) & 0x0f) | 0x40, ((bytes[8] ?? 0) & 0x3f) | 0x80];
  const hex = [...bytes.slice(0, 16)]
    .map((byte, i) => (i === 6 ? version : i === 8 ? variant : byte).toString(16).padStart(2, '0'))
    .join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
