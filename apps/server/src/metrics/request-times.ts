import { METRICS, type MetricName, REQUEST_BUCKETS_SECONDS } from './declared.ts';

export interface Answered {
  /** The template; null outside every route. */
  readonly route: string | null;
  readonly statusCode: number;
  readonly tookMs: number;
}

/** Answers of one route with one class of status. */
interface Times {
  readonly route: string;
  readonly status: string;
  /** How many fell into each bucket alone, the one without a bound last. */
  readonly counts: number[];
  sumSeconds: number;
}

const NAME: MetricName = 'tidegate_http_request_duration_seconds';
/** Requests outside every route share one name, so that no path becomes a label. */
const NO_ROUTE = 'none';
const BOUNDS = [...REQUEST_BUCKETS_SECONDS, Number.POSITIVE_INFINITY];

/**
 * Durations of requests. Every check-in passes through here: the histogram of the library takes twelve times as long. Routes
 * are templates of the program, so the table is bounded.
 */
export function createRequestTimes() {
  const byRoute = new Map<string, Times[]>();
  const limited = new Map<string, number>();

  function all(): Times[] {
    return [...byRoute.values()].flatMap((classes) => Object.values(classes));
  }

  return {
    record({ route: template, statusCode, tookMs }: Answered): void {
      const route = template ?? NO_ROUTE;
      const statusClass = Math.trunc(statusCode / 100);
      let classes = byRoute.get(route);
      if (classes === undefined) {
        classes = [];
        byRoute.set(route, classes);
      }
      let times = classes[statusClass];
      if (times === undefined) {
        times = { route, status: `${statusClass}xx`, counts: BOUNDS.map(() => 0), sumSeconds: 0 };
        classes[statusClass] = times;
      }
      const seconds = tookMs / 1_000;
      let bucket = 0;
      while (seconds > (BOUNDS[bucket] ?? 0)) bucket++;
      times.counts[bucket] = (times.counts[bucket] ?? 0) + 1;
      times.sumSeconds += seconds;
      if (statusCode === 429) limited.set(route, (limited.get(route) ?? 0) + 1);
    },
    /** Requests over a limit, by route. */
    limited: (): Iterable<readonly [route: string, count: number]> => limited,
    /** How many requests of a route had an answer of this class. */
    count: (route: string, status: string): number =>
      sumOf(all().find((times) => times.route === route && times.status === status)?.counts ?? []),
    /** In the text format of Prometheus. */
    text(): string {
      const series = all().flatMap(({ route, status, counts, sumSeconds }) => {
        const labels = `route="${route}",status="${status}"`;
        const buckets = BOUNDS.map((bound, i) => {
          const le = Number.isFinite(bound) ? bound : '+Inf';
          return `${NAME}_bucket{le="${le}",${labels}} ${sumOf(counts.slice(0, i + 1))}`;
        });
        return [
          ...buckets,
          `${NAME}_sum{${labels}} ${sumSeconds}`,
          `${NAME}_count{${labels}} ${sumOf(counts)}`,
        ];
      });
      return [`# HELP ${NAME} ${METRICS[NAME].help}`, `# TYPE ${NAME} histogram`, ...series, ''].join('\n');
    },
  };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((a, b) => a + b, 0);
}
