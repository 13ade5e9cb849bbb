/** One thing that was looked at; `todo` says what to do where it is not as it should be. */
export type Finding =
  | { check: string; level: 'ok'; detail: string }
  | { check: string; level: 'warn' | 'fail'; detail: string; todo: string };

const MIB = 1024 * 1024;
/** Below this much room the server is about to stop, or soon will. */
const DISK_FAIL_BYTES = 100 * MIB;
const DISK_WARN_BYTES = 1024 * MIB;

export function judgeDisk({ path, freeBytes }: { path: string; freeBytes: number }): Finding {
  const check = 'disk space';
  const detail = `${Math.floor(freeBytes / MIB)} MiB free at ${path}`;
  const todo = 'make room: a database that cannot write answers 503, and no agent can renew its token';
  if (freeBytes < DISK_FAIL_BYTES) return { check, level: 'fail', detail, todo };
  if (freeBytes < DISK_WARN_BYTES) return { check, level: 'warn', detail, todo };
  return { check, level: 'ok', detail };
}

/** No version of this program is older; a clock before it is wrong. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);
/** How far an agent's clock may be from a signed time. */
const CLOCK_FAIL_MS = 5 * 60_000;
const CLOCK_WARN_MS = 5_000;

/** Held against what was written before: time does not go back. `databaseMs` is the clock of another machine. */
export function judgeClock(facts: {
  nowMs: number;
  newestEventMs: number | null;
  databaseMs: number | null;
}): Finding {
  const { nowMs, newestEventMs, databaseMs } = facts;
  const check = 'clock';
  const todo = 'set the clock and keep it by NTP: expiry of tokens, commands and keys is judged by it';
  if (nowMs < EARLIEST_MS) {
    return { check, level: 'fail', detail: 'the clock is years behind', todo };
  }
  if (newestEventMs !== null && newestEventMs - nowMs > CLOCK_WARN_MS) {
    const seconds = Math.ceil((newestEventMs - nowMs) / 1_000);
    const detail = `the newest event was written ${seconds} s from now: the clock was ahead, or is behind`;
    const level = newestEventMs - nowMs > CLOCK_FAIL_MS ? 'fail' : 'warn';
    return { check, level, detail, todo };
  }
  const apartMs = databaseMs === null ? 0 : Math.abs(databaseMs - nowMs);
  const detail =
    databaseMs === null ? 'not behind what was written' : `${Math.round(apartMs)} ms from the database's`;
  if (apartMs > CLOCK_FAIL_MS) return { check, level: 'fail', detail, todo };
  if (apartMs > CLOCK_WARN_MS) return { check, level: 'warn', detail, todo };
  return { check, level: 'ok', detail };
}

export interface FileMode {
  path: string;
  isFolder: boolean;
  mode: number;
}

/** Files named at most. */
const OPEN_MAX = 5;

/** Whatever the server writes is for its own user alone: folders 0700, files 0600. */
export function judgeModes(files: readonly FileMode[]): Finding {
  const check = 'permissions';
  const open = files.filter(({ mode }) => (mode & 0o077) !== 0);
  if (open.length === 0)
    return { check, level: 'ok', detail: `${files.length} files and folders are for their owner alone` };
  const named = open.slice(0, OPEN_MAX).map(({ path, mode }) => `${path} (${(mode & 0o777).toString(8)})`);
  const more = open.length > OPEN_MAX ? ` and ${open.length - OPEN_MAX} more` : '';
  return {
    check,
    level: 'fail',
    detail: `others may reach ${named.join(', ')}${more}`,
    todo: 'chmod -R u+rwX,go-rwx on the data folder, and make new keys where somebody may have read them',
  };
}
