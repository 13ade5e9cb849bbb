import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LISTS_MAX_AGE_MS } from '@tidegate/protocol/timeliness';
import { type ListState, UNKNOWN_LISTS } from '../ecosystem.ts';
import type { AptPlaces } from './installed.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * How long ago `apt-get update` last succeeded. Unknown where there are no lists, which the scan reports as a fault,
 * and where they are of the future: the clock was set back since.
 */
export async function judgeLists({ listsDir }: AptPlaces, localMs: number): Promise<ListState> {
  const fetchedMs = await findFetchTime(listsDir);
  if (fetchedMs === null || fetchedMs > localMs) return UNKNOWN_LISTS;
  const ageMs = localMs - fetchedMs;
  if (ageMs <= LISTS_MAX_AGE_MS) return { ageMs, staleness: null };
  const staleness = `apt-get update last succeeded ${Math.floor(ageMs / DAY_MS)} days ago, so newer versions are not known: let a timer of the system run it`;
  return { ageMs, staleness };
}

/**
 * A list's modification time says when the archive last changed, not when it was last checked. apt resets mode
 * and owner of every signed release file whenever the archive confirms it, which updates its ctime.
 */
async function findFetchTime(listsDir: string): Promise<number | null> {
  const names = await readdir(listsDir).catch(() => []);
  const releases = names.filter((name) => /_(?:In)?Release$/.test(name));
  if (releases.length === 0) return null;
  const signed = names.filter((name) => /_(?:InRelease|Release\.gpg)$/.test(name));
  // For an unchanged unsigned release the only trace is that an update was attempted.
  const marks = signed.length > 0 ? signed : [...releases, 'partial'];
  const stamp = join(dirname(join(listsDir, '.')), 'periodic/update-success-stamp'); // Ubuntu's
  const times = await Promise.all([...marks.map((name) => join(listsDir, name)), stamp].map(changedMs));
  return Math.max(...times);
}

function changedMs(path: string): Promise<number> {
  return lstat(path).then(
    ({ ctimeMs }) => ctimeMs,
    () => 0,
  );
}
