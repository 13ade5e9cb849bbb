/** The result of one check; `todo` says what to do about a problem. */
export type Finding =
  | { check: string; level: 'ok'; detail: string }
  | { check: string; level: 'warn' | 'fail'; detail: string; todo: string };

const MIB = 1024 * 1024;
/** With less free space the server is about to stop, or will soon. */
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

/** Compares SERVICE_WORKERS with the cores that the server may use. */
export function judgeWorkers({ processes, cores }: { processes: number; cores: number }): Finding {
  const check = 'workers';
  const detail = `${processes} of ${cores} cores can answer at once (SERVICE_WORKERS)`;
  if (processes <= cores) return { check, level: 'ok', detail };
  const todo = `set SERVICE_WORKERS to ${cores} or less: more processes than cores gain nothing and take memory`;
  return { check, level: 'warn', detail: `${processes} processes share ${cores} cores`, todo };
}

/** This program is younger than this date, so an earlier clock is wrong. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);
/** How far an agent's clock may differ from a signed time. */
const CLOCK_FAIL_MS = 5 * 60_000;
const CLOCK_WARN_MS = 5_000;

/** Compares the clock with times written before, since time does not go back. `databaseMs`: another machine's clock. */
export function judgeClock(facts: {
  nowMs: number;
  newestEventMs: number | null;
  databaseMs: number | null;
}): Finding {
  const { nowMs, newestEventMs, databaseMs } = facts;
  const check = 'clock';
  const todo = 'set the clock and run NTP: tokens, commands and keys expire by it';
  if (nowMs < EARLIEST_MS) {
    return { check, level: 'fail', detail: 'the clock is years behind', todo };
  }
  if (newestEventMs !== null && newestEventMs - nowMs > CLOCK_WARN_MS) {
    const seconds = Math.ceil((newestEventMs - nowMs) / 1_000);
    const detail = `the newest event is ${seconds} s in the future: the clock was ahead, or is behind`;
    const level = newestEventMs - nowMs > CLOCK_FAIL_MS ? 'fail' : 'warn';
    return { check, level, detail, todo };
  }
  const apartMs = databaseMs === null ? 0 : Math.abs(databaseMs - nowMs);
  const detail =
    databaseMs === null ? 'not behind the newest event' : `${Math.round(apartMs)} ms from the database's`;
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

/** The server's files are for its own user only: folders 0700, files 0600. */
export function judgeModes(files: readonly FileMode[]): Finding {
  const check = 'permissions';
  const open = files.filter(({ mode }) => (mode & 0o077) !== 0);
  if (open.length === 0)
    return {
      check,
      level: 'ok',
      detail: `${files.length} files and folders are accessible to their owner only`,
    };
  const named = open.slice(0, OPEN_MAX).map(({ path, mode }) => `${path} (${(mode & 0o777).toString(8)})`);
  const more = open.length > OPEN_MAX ? ` and ${open.length - OPEN_MAX} more` : '';
  return {
    check,
    level: 'fail',
    detail: `other users can access ${named.join(', ')}${more}`,
    todo: 'run chmod -R u+rwX,go-rwx on the data folder, and replace keys that others may have read',
  };
}
