import type { IdleCheckIn, Report, WorkerFacts } from './messages.ts';

/** How long check-ins wait for the next report, in milliseconds. */
const EVERY_MS = 50;
/** The server hears of a worker at least so often. */
const SILENT_MAX_MS = 1_000;
/** Check-ins that the server has not taken yet; beyond them the server answers itself. */
export const UNTAKEN_MAX = 20_000;

export interface Reports {
  record(checkIn: IdleCheckIn): void;
  took(ms: number): void;
  refused(route: string, tookMs: number): void;
  /** Whether the server is so far behind that it has to answer itself. */
  isFull(): boolean;
  /** Sends what is left; resolves when it is on its way. */
  stop(): Promise<void>;
}

/** Gathers what a worker answers, and sends it to the server in the order in which it happened. */
export function createReports({
  send,
  facts,
}: {
  send: (report: Report) => Promise<void>;
  facts: () => WorkerFacts;
}): Reports {
  let next = empty();
  let sentMs = performance.now();
  let untaken = 0;
  let sending: Promise<void> = Promise.resolve();
  const timer = setInterval(flushWhenDue, EVERY_MS);

  function flushWhenDue(): void {
    const isEmpty = next.checkIns.length === 0 && next.refused.length === 0;
    if (!isEmpty || performance.now() - sentMs >= SILENT_MAX_MS) flush();
  }

  function flush(): void {
    const { checkIns } = next;
    sentMs = performance.now();
    sending = send({ kind: 'report', ...next, facts: facts() }).finally(() => {
      untaken -= checkIns.length;
    });
    next = empty();
  }

  return {
    record(checkIn) {
      next.checkIns.push(checkIn);
      untaken++;
    },
    took: (ms) => void next.tookMs.push(Math.round(ms * 1_000) / 1_000),
    refused: (route, tookMs) => void next.refused.push([route, tookMs]),
    isFull: () => untaken >= UNTAKEN_MAX,
    async stop() {
      clearInterval(timer);
      flush();
      await sending;
    },
  };
}

function empty(): Pick<Report, 'checkIns' | 'tookMs' | 'refused'> {
  return { checkIns: [], tookMs: [], refused: [] };
}
