import type { RecordAnswer } from '../../osv-client.ts';
import { type ReadRecord, readMirrorRecord, unreadableReason } from '../records/record-rules.ts';
import type { Snapshot } from '../snapshot.ts';
import type { ExportClient } from './export-client.ts';

export interface ChangeSources {
  readonly client: ExportClient;
  /** Source for records that the export cannot give; null when the API may not be used. */
  readonly fetchFromApi: ((id: string) => Promise<RecordAnswer>) | null;
}

/** A changed record as fetched. `bytes` is null when it was deleted, or was too large to read. */
export type FetchedChange =
  | { readonly kind: 'read' | 'unreadable'; readonly bytes: Uint8Array; readonly read: ReadRecord }
  | { readonly kind: 'deleted' | 'unreadable'; readonly bytes: null; readonly read: null }
  | { readonly kind: 'failed'; readonly cause: string };

/**
 * Fetches a record from the export, or from the API if the export has none that is readable. An unreadable record is a
 * failure, which may pass (a captive portal), unless the last full load found it unreadable too: then it stays so.
 */
export async function fetchChange(
  { client, fetchFromApi }: ChangeSources,
  { snapshot, id }: { snapshot: Snapshot; id: string },
): Promise<FetchedChange> {
  const { base, releases } = snapshot;
  const answer = await client.fetchRecord(base, id);
  const found = answer.kind === 'answer' ? readText(answer.text, { id, releases }) : null;
  if (found?.kind === 'read') return found;
  const other = fetchFromApi ? await fetchFromApi(id) : null;
  const refetched = other?.kind === 'record' ? readText(other.text, { id, releases }) : null;
  if (refetched?.kind === 'read') return refetched;
  const isGone = answer.kind === 'absent' && (other === null || other.kind === 'absent');
  if (isGone) return { kind: 'deleted', bytes: null, read: null };
  if (snapshot.unreadable.includes(id)) {
    if (found) return found;
    if (answer.kind === 'garbage') return { kind: 'unreadable', bytes: null, read: null };
  }
  if (found) return { kind: 'failed', cause: `${id} ${unreadableReason(found.read)}` };
  return { kind: 'failed', cause: 'cause' in answer ? answer.cause : answer.kind };
}

function readText(
  text: string,
  { id, releases }: { id: string; releases: readonly string[] },
): { kind: 'read' | 'unreadable'; bytes: Uint8Array; read: ReadRecord } {
  const bytes = Buffer.from(text);
  const read = readMirrorRecord(bytes, { id, releases });
  return { kind: unreadableReason(read) === null ? 'read' : 'unreadable', bytes, read };
}
