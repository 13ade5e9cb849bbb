import type { Platform } from '../platform/platform.ts';
import type { OsvClient, RecordAnswer } from './osv-client.ts';
import { type AdvisoryRow, readAdvisoryTimes, saveAdvisories } from './store.ts';

/** Records fetched in parallel. */
const CONCURRENT = 8;
/** Failures after which the rest is postponed. */
const FAILURES_MAX = 3;

/** A record to be fetched. */
export interface WantedRecord {
  readonly id: string;
  /** Null: no query has told it, so that only a record that is not stored is fetched. */
  readonly modified: string | null;
}

/**
 * Fetches records that are not stored or have changed, at most `most`, and returns the remaining ids. Records are for
 * display: no verdict waits for one.
 */
export async function fetchRecords(
  platform: Platform,
  client: OsvClient,
  { ids, most }: { ids: readonly WantedRecord[]; most: number },
): Promise<WantedRecord[]> {
  const distinct = [...new Map(ids.map((one) => [one.id, one])).values()];
  const stored = await readAdvisoryTimes(
    platform.database.read,
    distinct.map(({ id }) => id),
  );
  const wanted = distinct.filter(({ id, modified }) => {
    const known = stored.get(id);
    return known === undefined || (modified !== null && modified !== known);
  });
  // Malicious packages are shown first, so fetch their records first.
  wanted.sort((a, b) => Number(b.id.startsWith('MAL-')) - Number(a.id.startsWith('MAL-')));
  const queue = wanted.slice(0, most);
  const rows: AdvisoryRow[] = [];
  let failures = 0;
  async function work(): Promise<void> {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      const answer = await client.fetchRecord(one.id);
      if (answer.kind === 'record') rows.push(rowOf(one, answer, platform.now()));
      else if (answer.kind !== 'absent' && ++failures >= FAILURES_MAX) return;
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  if (rows.length > 0) await platform.database.transact((tx) => saveAdvisories(tx, rows));
  return failures > 0 ? [] : wanted.slice(most);
}

/** Stored under the time from the query, so that a record dated differently by the two calls is not fetched again. */
function rowOf(
  { id, modified }: WantedRecord,
  { record, text }: Extract<RecordAnswer, { kind: 'record' }>,
  nowMs: number,
): AdvisoryRow {
  return { id, modified: modified ?? record.modified, record: text, fetched_at: nowMs };
}
