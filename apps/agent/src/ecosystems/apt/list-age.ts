import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AptPlaces } from './installed.ts';

/** Debian's and Ubuntu's timers fetch the lists daily; one missed day is tolerated. */
export const LIST_AGE_MAX_MS = 48 * 3_600_000;
const DAY_MS = 24 * 3_600_000;

/**
 * Reports when `apt-get update` last succeeded if that is too long ago. Null when the lists are fresh, and when
 * there are none, which the scan reports as a fault.
 */
export async function findStaleLists({ listsDir }: AptPlaces, nowMs: number): Promise<string | null> {
  const fetchedMs = await findFetchTime(listsDir);
  if (fetchedMs === null || nowMs - fetchedMs <= LIST_AGE_MAX_MS) return null;
  const days = Math.floor((nowMs - fetchedMs) / DAY_MS);
  return `apt-get update last succeeded ${days} days ago, so newer versions are not known: let a timer of the system run it`;
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
