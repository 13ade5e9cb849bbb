import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Platform } from '../../../platform/platform.ts';
import { readMirrorRecord } from '../records/record-rules.ts';
import { baseOf } from '../snapshot.ts';
import { type LoadOutcome, loadArchive, type Replacing } from './load-archive.ts';
import { createLoadProgress } from './load-progress.ts';
import { readZip } from './read-zip.ts';
import { claimLoad, endLoad } from './store.ts';

/** Records read to find out an archive's ecosystem. */
const LOOKED_AT = 100;

export interface ImportRequest {
  readonly path: string;
  readonly base: string;
  readonly releases: readonly string[];
  /** The operator's statement of when the file was fetched; null: the time of its newest record. */
  readonly statedAsOfMs: number | null;
  readonly replaces?: Replacing;
  readonly onStep?: (text: string) => void;
}

/** Loads an archive from a file, in the same way as a fetched one. @throws ZipFault */
export async function importArchive(platform: Platform, request: ImportRequest): Promise<LoadOutcome> {
  const { path, base, releases, statedAsOfMs, replaces, onStep } = request;
  const sha256 = await hashOf(path);
  const claimed = await platform.database.transact((tx) =>
    claimLoad(tx, { base, holder: platform.newId(), nowMs: platform.now(), phase: 'importing' }),
  );
  if (!claimed)
    return { kind: 'failed', cause: 'a server loads this ecosystem at the moment; try again later' };
  const loadId = claimed.load_id;
  const progress = createLoadProgress(platform, { base, loadId, ...(onStep ? { onStep } : {}) });
  try {
    const archive = { path, source: `file:${path.split('/').at(-1)}`, sha256 };
    return await loadArchive(platform, {
      ...{ progress, archive, releases, statedAsOfMs, keepsNewer: true },
      ...(replaces ? { replaces } : {}),
    });
  } finally {
    // The outcome of an import says nothing about the source that the server fetches from.
    await platform.database.transact((tx) => endLoad(tx, { loadId, fault: faultBefore(claimed) }));
  }
}

function faultBefore({
  error,
  failures,
  retry_at: retryAtMs,
}: {
  error: string | null;
  failures: number;
  retry_at: number;
}) {
  return error === null ? null : { error, failures, retryAtMs };
}

/** The one ecosystem that all of the first records have in common; null when there is none, or several. */
export async function ecosystemOf(path: string): Promise<string | null> {
  let common: Set<string> | null = null;
  let looked = 0;
  for await (const { name, bytes } of readZip(path)) {
    if (++looked > LOOKED_AT) break;
    if (bytes === null) continue;
    const answer = readMirrorRecord(bytes, { id: name.replace(/\.json$/, ''), releases: null });
    if (answer.kind === 'unreadable' || answer.record.entries.length === 0) continue;
    const bases: Set<string> = new Set(answer.record.entries.map(({ eco }) => baseOf(eco)));
    common = common === null ? bases : common.intersection(bases);
  }
  return common?.size === 1 ? ([...common][0] ?? null) : null;
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}
