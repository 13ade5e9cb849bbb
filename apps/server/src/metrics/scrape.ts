import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { METRICS, type MetricName } from './declared.ts';

export interface Sample {
  readonly metric: MetricName;
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A part of the scrape, which may fail without the others. */
export interface Collector {
  readonly name: string;
  collect(): Promise<{ readonly asOfMs: number; readonly samples: readonly Sample[] }>;
}

/** Longest wait for one part of a scrape, in milliseconds: Prometheus waits for ten seconds. */
const COLLECT_MAX_MS = 5_000;
/** Scrapes within this time share one answer, in milliseconds. */
const SHARED_MS = 1_000;

/**
 * Asks every collector at once and writes their samples as text. What a failed one would have told is missing, never 0 or
 * out of date, and `tidegate_collector_up` says so.
 */
export function createScrape({
  collectors,
  counted,
  now,
  log,
}: {
  collectors: readonly Collector[];
  /** What the server counts as it happens. */
  counted: { samples(): readonly Sample[]; text(): Promise<string> };
  now: Clock;
  log: Pick<Log, 'warn'>;
}): () => Promise<string> {
  let last: { readonly atMs: number; readonly text: Promise<string> } | null = null;

  async function samplesOf({ name, collect }: Collector): Promise<readonly Sample[]> {
    const labels = { collector: name };
    try {
      const { asOfMs, samples } = await within(collect(), COLLECT_MAX_MS);
      const ageSeconds = Math.max(0, now() - asOfMs) / 1_000;
      return [
        ...samples,
        { metric: 'tidegate_collector_up', labels, value: 1 },
        { metric: 'tidegate_collector_age_seconds', labels, value: ageSeconds },
      ];
    } catch (error) {
      // Told by the metric: whatever a part of the scrape meets, the others are still wanted.
      log.warn('metrics could not be read', { collector: name, error: String(error) });
      return [{ metric: 'tidegate_collector_up', labels, value: 0 }];
    }
  }

  async function scrape(): Promise<string> {
    const samples = (await Promise.all(collectors.map(samplesOf))).flat();
    return `${await textOf([...counted.samples(), ...samples])}\n${await counted.text()}`;
  }

  return () => {
    const atMs = now();
    if (!last || atMs - last.atMs >= SHARED_MS || atMs < last.atMs) last = { atMs, text: scrape() };
    return last.text;
  };
}

/** A registry of its own for each scrape: a metric without samples is absent. */
function textOf(samples: readonly Sample[]): Promise<string> {
  const registry = new Registry();
  const made = new Map<MetricName, (sample: Sample) => void>();
  for (const sample of samples) {
    const add = made.get(sample.metric) ?? adderTo(registry, sample.metric);
    made.set(sample.metric, add);
    add(sample);
  }
  return registry.metrics();
}

function adderTo(registry: Registry, name: MetricName): (sample: Sample) => void {
  const { kind, ...declared } = METRICS[name];
  const configuration = { ...optionsOf(name, declared), registers: [registry] };
  if (kind === 'counter') {
    const counter = new Counter(configuration);
    return ({ labels = {}, value }) => counter.inc(labels, value);
  }
  const gauge = new Gauge(configuration);
  return ({ labels = {}, value }) => gauge.set(labels, value);
}

/** What the library wants to know of a declared metric. */
export function optionsOf(
  name: MetricName,
  { help, labels = [] }: { help: string; labels?: readonly string[] } = METRICS[name],
) {
  return { name, help, labelNames: [...labels] };
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1_000} s`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
