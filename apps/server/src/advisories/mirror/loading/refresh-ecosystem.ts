import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Platform } from '../../../platform/platform.ts';
import type { OsvClient } from '../../osv-client.ts';
import type { Snapshot } from '../snapshot.ts';
import { applyChanges } from './apply-changes.ts';
import type { ExportClient } from './export-client.ts';
import { loadArchive } from './load-archive.ts';
import { createLoadProgress, LoadLost, type LoadProgress } from './load-progress.ts';
import type { ZipLimits } from './read-zip.ts';
import { refetchUnreadableRecords } from './refetch-unreadable-records.ts';
import { claimLoad, endLoad, type LoadRow } from './store.ts';

/** The list of changes has no deletions, so everything is loaded again at this interval. */
export const FULL_RELOAD_MS = 7 * 24 * 60 * 60_000;
export const CHANGES_EVERY_MS = 15 * 60_000;
/** Pause after the first failure, and the longest pause. */
const RETRY_MS = 60_000;
const RETRY_MAX_MS = 60 * 60_000;
/** Consecutive failures of the list of changes after which everything is loaded again. */
const FAILURES_TO_RELOAD = 3;
const RELOAD_AGAIN_MS = 6 * 60 * 60_000;

export interface RefreshDeps {
  readonly platform: Platform;
  readonly exportClient: ExportClient;
  /** Source for records that the export cannot give; null when it may not be used. */
  readonly api: Pick<OsvClient, 'fetchRecord'> | null;
  /** Age from which decisions reject data. */
  readonly maxAgeMs: number;
  /** Folder for an archive while it is read. */
  readonly folder: string;
  readonly zipLimits?: ZipLimits;
  readonly isStopped?: () => boolean;
  readonly onStep?: (text: string) => void;
}

export interface EcosystemState {
  readonly base: string;
  readonly releases: readonly string[];
  readonly snapshot: Snapshot | null;
  readonly load: LoadRow | null;
}

export type Due = 'full' | 'changes' | null;

/** The refresh that an ecosystem needs now. */
export function dueOf({ releases, snapshot, load }: EcosystemState, nowMs: number): Due {
  const isWaiting = load !== null && load.retry_at > nowMs && load.retry_at <= nowMs + RETRY_MAX_MS;
  const isNew = !snapshot || !releases.every((one) => snapshot.releases.includes(one));
  if (isWaiting) return null;
  if (isNew || nowMs - snapshot.loadedAtMs >= FULL_RELOAD_MS || nowMs < snapshot.loadedAtMs) return 'full';
  const isLongAgo = nowMs - snapshot.loadedAtMs >= RELOAD_AGAIN_MS;
  if (load !== null && load.failures >= FAILURES_TO_RELOAD && isLongAgo) return 'full';
  const isDue = snapshot.asOfKind !== 'fetched' || nowMs - snapshot.asOfMs >= CHANGES_EVERY_MS;
  return isDue || nowMs < snapshot.asOfMs ? 'changes' : null;
}

/** Refreshes one ecosystem. False when another server does it, or it failed; the data in use then stays. */
export async function refreshEcosystem(deps: RefreshDeps, state: EcosystemState, due: Due): Promise<boolean> {
  const { platform, onStep } = deps;
  const { base } = state;
  const holder = platform.newId();
  const claimed = await platform.database.transact((tx) =>
    claimLoad(tx, { base, holder, nowMs: platform.now(), phase: due === 'full' ? 'downloading' : 'changes' }),
  );
  if (!claimed) return false;
  const loadId = claimed.load_id;
  const progress = createLoadProgress(platform, { base, loadId, ...(onStep ? { onStep } : {}) });
  try {
    const cause = await bringUp(deps, { state, progress, due });
    if (cause === null) {
      await platform.database.transact((tx) => endLoad(tx, { loadId, fault: null }));
      platform.log.info('advisory mirror is up to date', { ecosystem: base, load: due });
      return true;
    }
    await fail(platform, claimed, cause, deps.isStopped?.() ?? false);
  } catch (error) {
    if (error instanceof LoadLost) return false;
    await fail(platform, claimed, error instanceof Error ? error.message : String(error), false);
  }
  return false;
}

/** Why the refresh failed; null when it succeeded. */
async function bringUp(
  deps: RefreshDeps,
  { state, progress, due }: { state: EcosystemState; progress: LoadProgress; due: Due },
): Promise<string | null> {
  const { platform, exportClient: client, api, maxAgeMs, isStopped } = deps;
  const fetchFromApi = api ? (id: string) => api.fetchRecord(id) : null;
  const stopping = isStopped ? { isStopped } : {};
  const changes = { progress, client, fetchFromApi, maxAgeMs, ...stopping };
  const heal = async () =>
    fetchFromApi && refetchUnreadableRecords(platform, { progress, fetchFromApi, ...stopping });
  if (due === 'changes') {
    await heal();
    const applied = await applyChanges(platform, changes);
    if (applied.kind !== 'too_many') return applied.kind === 'failed' ? applied.cause : null;
  }
  const loaded = await fetchAndLoad(deps, { state, progress });
  if (loaded !== null) return loaded;
  await heal();
  // An archive can be older than the list of changes, and is only as new as its newest record.
  const applied = await applyChanges(platform, changes);
  if (applied.kind === 'too_many') return 'the archive is far behind the list of changes';
  return applied.kind === 'failed' ? applied.cause : null;
}

async function fetchAndLoad(
  { platform, exportClient, folder, zipLimits, isStopped }: RefreshDeps,
  { state, progress }: { state: EcosystemState; progress: LoadProgress },
): Promise<string | null> {
  const { base, releases } = state;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${progress.loadId}.zip`);
  await rm(path, { force: true });
  try {
    await progress.at('downloading', 0, 0);
    const fetched = await exportClient.fetchArchive(base, {
      path,
      onProgress: ({ bytes, total }) => progress.at('downloading', bytes, total ?? 0),
    });
    if (!fetched.ok) return fetched.cause;
    const { url, sha256 } = fetched.value;
    const loaded = await loadArchive(platform, {
      ...{ progress, releases, archive: { path, source: url, sha256 } },
      ...(zipLimits ? { limits: zipLimits } : {}),
      ...(isStopped ? { isStopped } : {}),
    });
    if (loaded.kind === 'unconfirmed') throw new Error('only an import asks for a confirmation');
    return loaded.kind === 'failed' ? loaded.cause : null;
  } finally {
    await rm(path, { force: true });
  }
}

async function fail(platform: Platform, load: LoadRow, cause: string, isStopped: boolean): Promise<void> {
  // A stopping server has not failed: the next one starts at once.
  const failures = isStopped ? load.failures : load.failures + 1;
  const pauseMs = isStopped ? 0 : Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(load.failures, 10));
  const error = cause.slice(0, 500);
  const fault =
    isStopped && load.error === null ? null : { error, failures, retryAtMs: platform.now() + pauseMs };
  await platform.database.transact((tx) => endLoad(tx, { loadId: load.load_id, fault }));
  if (isStopped) return;
  const fields = { ecosystem: load.base, cause: error, retry_seconds: pauseMs / 1_000 };
  platform.log.upstreamWarning('supply_chain advisory mirror failed', fields);
}
