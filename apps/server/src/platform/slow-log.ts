import type { Log, LogFields } from './log.ts';

/** Lines of one kind in a window; the others are counted. */
const LINES_MAX = 10;
const WINDOW_MS = 60_000;
/** Longest text of a statement in a line, in characters. */
const STATEMENT_MAX = 500;

export interface SlowQuery {
  /** With placeholders; values that stand in it are masked. */
  sql: string;
  /** From the moment it was asked for, waiting included. */
  tookMs: number;
  /** For a turn of the event loop, for the writer, or for a connection. */
  waitedMs: number;
  /** Null where nothing was returned. */
  rows: number | null;
}

/** Measures queries, and tells of the slow ones. */
export interface QueryWatch {
  elapsedMs(): number;
  readonly thresholdMs: number;
  /** Called for queries of at least `thresholdMs`. */
  tell(query: SlowQuery): void;
}

export interface SlowRequest {
  method: string;
  /** The pattern of the route, never the URL. */
  route: string;
  status: number;
  tookMs: number;
  /** False where the client left before the end of the answer. */
  isComplete: boolean;
}

export interface RequestWatch {
  elapsedMs(): number;
  readonly thresholdMs: number;
  tell(request: SlowRequest): void;
}

interface Options {
  thresholdMs: number;
  log: Pick<Log, 'warn'>;
  elapsedMs: () => number;
}

export function watchQueries({ thresholdMs, log, elapsedMs }: Options): QueryWatch {
  const write = limited('slow query', { log, elapsedMs });
  return {
    ...{ elapsedMs, thresholdMs },
    tell: ({ sql, tookMs, waitedMs, rows }) =>
      write({
        duration_ms: Math.round(tookMs),
        waited_ms: Math.round(waitedMs),
        rows,
        statement: withoutValues(sql),
      }),
  };
}

/** Null with a threshold of 0, which tells of nothing. */
export function watchRequests({ thresholdMs, log, elapsedMs }: Options): RequestWatch | null {
  if (thresholdMs === 0) return null;
  const write = limited('slow request', { log, elapsedMs });
  return {
    ...{ elapsedMs, thresholdMs },
    tell: ({ method, route, status, tookMs, isComplete }) =>
      write({ method, route, status, duration_ms: Math.round(tookMs), complete: isComplete }),
  };
}

/** Writes at most LINES_MAX lines in a window; the next line after it says how many were left out. */
function limited(message: string, { log, elapsedMs }: Pick<Options, 'log' | 'elapsedMs'>) {
  let beganMs = Number.NEGATIVE_INFINITY;
  let written = 0;
  let leftOut = 0;
  return (fields: LogFields) => {
    if (elapsedMs() - beganMs >= WINDOW_MS) {
      beganMs = elapsedMs();
      written = 0;
    }
    if (written >= LINES_MAX) {
      leftOut++;
      return;
    }
    written++;
    log.warn(message, leftOut === 0 ? fields : { ...fields, left_out: leftOut });
    leftOut = 0;
  };
}

/** The text of a statement on one line, with every literal as `?`. */
export function withoutValues(sql: string): string {
  const masked = sql
    .slice(0, STATEMENT_MAX * 4)
    .replace(/'(?:[^']|'')*(?:'|$)/g, '?')
    .replace(/(?<![\w$."])\d+(?:\.\d+)?\b/g, '?')
    .replace(/\s+/g, ' ')
    .trim();
  return masked.length <= STATEMENT_MAX ? masked : `${masked.slice(0, STATEMENT_MAX)}…`;
}
