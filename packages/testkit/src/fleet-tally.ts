const SAMPLES_PER_OPERATION = 5;

/** What came of one request: an HTTP status, or the error that there was instead of an answer. */
export type Outcome = { status: number | string; latencyMs: number; code?: string; staleConnections: number };

export type OperationSummary = {
  operation: string;
  sent: number;
  /** How often each status, or error in place of one, was met. */
  statuses: Record<string, number>;
  /** How often a request was sent anew because its kept connection had been closed. */
  staleConnections: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  maxMs: number;
};

export type Verdict = { ok: boolean; problems: string[]; operations: OperationSummary[] };

/** Counts what a fleet met. */
export type Tally = {
  /** Counts an outcome of which `expected` is the only good status. */
  count(operation: string, outcome: Outcome, expected: number): void;
  /** Notes a fault that no status shows, such as an answer of the wrong shape. */
  fault(operation: string, text: string): void;
  summary(operation: string): OperationSummary;
  verdict(): Verdict;
};

type Count = {
  statuses: Map<string, number>;
  staleConnections: number;
  latenciesMs: number[];
  unexpected: number;
  samples: Set<string>;
};

/**
 * Makes an empty tally. Its verdict is good only when something was counted and every outcome was the expected
 * one: a refused request (429, 401) is a fault of the run, and a run without requests proves nothing.
 */
export function createTally(): Tally {
  const counts = new Map<string, Count>();

  function countOf(operation: string): Count {
    const known = counts.get(operation);
    if (known) return known;
    const fresh: Count = {
      statuses: new Map(),
      staleConnections: 0,
      latenciesMs: [],
      unexpected: 0,
      samples: new Set(),
    };
    counts.set(operation, fresh);
    return fresh;
  }

  function note(count: Count, text: string): void {
    count.unexpected++;
    if (count.samples.size < SAMPLES_PER_OPERATION) count.samples.add(text);
  }

  function summary(operation: string): OperationSummary {
    const { statuses, staleConnections, latenciesMs } = countOf(operation);
    const sorted = Float64Array.from(latenciesMs).sort();
    const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
    return {
      operation,
      sent: sorted.length,
      statuses: Object.fromEntries(statuses),
      staleConnections,
      p50Ms: at(0.5),
      p95Ms: at(0.95),
      p99Ms: at(0.99),
      maxMs: at(1),
    };
  }

  return {
    count: (operation, { status, latencyMs, code, staleConnections }, expected) => {
      const count = countOf(operation);
      count.statuses.set(`${status}`, (count.statuses.get(`${status}`) ?? 0) + 1);
      count.latenciesMs.push(latencyMs);
      count.staleConnections += staleConnections;
      if (status !== expected) note(count, code === undefined ? `${status}` : `${status} ${code}`);
    },
    fault: (operation, text) => note(countOf(operation), text),
    summary,
    verdict: () => {
      const problems = [...counts].flatMap(([operation, { unexpected, samples }]) =>
        unexpected === 0 ? [] : [`${operation}: ${unexpected} unexpected (${[...samples].join(', ')})`],
      );
      const operations = [...counts.keys()].map(summary);
      if (operations.every(({ sent }) => sent === 0)) problems.push('nothing was sent');
      return { ok: problems.length === 0, problems, operations };
    },
  };
}
