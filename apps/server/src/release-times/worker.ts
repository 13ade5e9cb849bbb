import {
  afterFailure,
  afterSuccess,
  type Breaker,
  CLOSED_BREAKER,
  isFailing,
  mayCall,
} from '../platform/circuit-breaker.ts';
import type { Platform } from '../platform/platform.ts';
import { askRegistry } from './ask-registry.ts';
import type { RegistryClient } from './registry-client.ts';
import { readReleaseTimes } from './store.ts';
import { AGED_ECOSYSTEMS, type AgedEcosystem, type AgeSubject, storedTimeKey, timeKey } from './subjects.ts';

/**
 * `judged`: everything that the registry knows is stored. `unreachable`: it was queried for every subject,
 * and failed for one. `pending`: one of them is not known yet, for any reason; it is queried again.
 */
export type SourceOutcome = 'judged' | 'pending' | 'unreachable';
export type AgeOutcomes = Readonly<Record<AgedEcosystem, SourceOutcome>>;

/** Source of release times (A7); callers wait for it, like for the advisory worker, and never call out. */
export interface AgeSource {
  /** Waits until the times of the subjects are stored, at most `timeoutMs`. Never calls out itself. */
  ensureTimed(subjects: readonly AgeSubject[], timeoutMs: number): Promise<AgeOutcomes>;
  /** The registries' state without a query: `pending` unless one failed last. */
  outcomes(): AgeOutcomes;
  stop(): Promise<void>;
}

/** Maximum packages that wait for one registry. */
export const QUEUE_MAX = 20_000;
/** Concurrent queries of one registry. */
const CONCURRENCY = 4;
/** Interval until a version without a time is queried again, in milliseconds. */
export const UNKNOWN_RETRY_MS = 15 * 60_000;

export interface ReleaseTimesOptions {
  readonly platform: Platform;
  readonly client: RegistryClient;
  readonly queueMax?: number;
}

/** Fetches times of release: one runner for each registry, a package at a time, for all callers. */
export function createReleaseTimes({
  platform,
  client,
  queueMax = QUEUE_MAX,
}: ReleaseTimesOptions): AgeSource {
  let isStopped = false;
  const registries = { npm: createRegistry(), pypi: createRegistry() };

  /** A bounded queue in front of one registry; concurrent requests for a subject share one query. */
  function createRegistry() {
    const queue = new Map<string, Job>();
    const waiting = new Map<string, PromiseWithResolvers<Asked>>();
    const inFlight = new Set<string>();
    let breaker: Breaker = CLOSED_BREAKER;
    let running = 0;
    let idle = Promise.withResolvers<void>();
    idle.resolve();

    /** Resolves when the subject was queried; never rejects. */
    function ask(subject: AgeSubject): Promise<Asked> {
      const key = timeKey(subject);
      const present = waiting.get(key);
      if (present) return present.promise;
      const jobKey = jobKeyOf(subject);
      const job = queue.get(jobKey) ?? { subjects: new Map<string, AgeSubject>() };
      if (isStopped || (queue.size >= queueMax && !queue.has(jobKey))) return Promise.resolve('unasked');
      queue.set(jobKey, job);
      job.subjects.set(key, subject);
      const asked = Promise.withResolvers<Asked>();
      waiting.set(key, asked);
      start();
      return asked.promise;
    }

    function start(): void {
      if (running >= CONCURRENCY) return;
      if (running++ === 0) idle = Promise.withResolvers<void>();
      void run().finally(() => {
        if (--running === 0) idle.resolve();
      });
    }

    async function run(): Promise<void> {
      // Callers in the same turn share one job.
      await Promise.resolve();
      for (let next = take(); next !== null && !isStopped; next = take()) {
        const subjects = [...next.subjects.values()];
        const keys = subjects.map(timeKey);
        for (const key of keys) inFlight.add(key);
        const asked = await work(subjects);
        for (const key of keys) {
          inFlight.delete(key);
          settle(key, asked);
        }
      }
    }

    function take(): Job | null {
      const [first] = queue;
      if (!first) return null;
      queue.delete(first[0]);
      return first[1];
    }

    async function work(subjects: readonly AgeSubject[]): Promise<Asked> {
      if (!mayCall(breaker, { nowMs: platform.now(), urgent: true })) return 'failed';
      try {
        const cause = await askRegistry(platform, client, subjects);
        // A query aborted by a stopping server is not a failed registry.
        if (cause !== null && isStopped) return 'unasked';
        const nowMs = platform.now();
        breaker = cause === null ? afterSuccess(nowMs) : afterFailure(breaker, nowMs);
        if (cause === null) return 'timed';
        // Fails open in `warn` (specification, "Advisory checks"); `block` reads unknown ages.
        const fields = { ecosystem: subjects[0]?.ecosystem, package: subjects[0]?.name, cause };
        platform.log.upstreamWarning('package_age source failed', fields);
        return 'failed';
      } catch (error) {
        // An unavailable database says nothing about the registry.
        platform.log.error('times of release could not be stored', { error: String(error) });
        return 'unasked';
      }
    }

    function settle(key: string, asked: Asked): void {
      waiting.get(key)?.resolve(asked);
      waiting.delete(key);
    }

    return {
      ask,
      isFailing: () => isFailing(breaker),
      /** A call beyond the wait, to a registry that failed last, counts as timed out. */
      whenLate: (subject: AgeSubject): Asked => {
        return inFlight.has(timeKey(subject)) && isFailing(breaker) ? 'failed' : 'unasked';
      },
      /** Releases everybody who waits for a query that will not run. */
      stop(): Promise<void> {
        for (const key of [...waiting.keys()]) settle(key, 'unasked');
        return idle.promise;
      },
    };
  }

  async function untimed(ecosystem: AgedEcosystem, subjects: readonly AgeSubject[]): Promise<AgeSubject[]> {
    const distinct = new Map(subjects.map((subject) => [timeKey(subject), subject]));
    const names = [...distinct.values()].map(({ name }) => name);
    const nowMs = platform.now();
    for (const row of await readReleaseTimes(platform.database.read, { ecosystem, names })) {
      const age = nowMs - row.fetched_at;
      // A clock that was set back must not keep a version unknown.
      // A contradiction is queried again: a registry may list a version later than its mirrors.
      const isFinal = row.published_at !== null && row.standing !== 'contradicted';
      const isSettled = isFinal || (age >= 0 && age < UNKNOWN_RETRY_MS);
      if (isSettled) distinct.delete(storedTimeKey({ ...row, ecosystem }));
    }
    return [...distinct.values()];
  }

  async function ensure(
    ecosystem: AgedEcosystem,
    all: readonly AgeSubject[],
    timeoutMs: number,
  ): Promise<SourceOutcome> {
    const subjects = all.filter((subject) => subject.ecosystem === ecosystem);
    const missing = subjects.length === 0 ? [] : await untimed(ecosystem, subjects);
    if (missing.length === 0) return 'judged';
    const registry = registries[ecosystem];
    const answered = new Map<AgeSubject, Asked>();
    const asking = missing.map(async (subject) => answered.set(subject, await registry.ask(subject)));
    await within(Promise.all(asking), timeoutMs);
    const asked = missing.map((subject) => answered.get(subject) ?? registry.whenLate(subject));
    if (asked.includes('unasked')) return 'pending';
    return asked.includes('failed') ? 'unreachable' : 'judged';
  }

  return {
    async ensureTimed(subjects, timeoutMs) {
      const [npm, pypi] = await Promise.all([
        ensure('npm', subjects, timeoutMs),
        ensure('pypi', subjects, timeoutMs),
      ]);
      return { npm, pypi };
    },
    outcomes: () => ({
      npm: registries.npm.isFailing() ? 'unreachable' : 'pending',
      pypi: registries.pypi.isFailing() ? 'unreachable' : 'pending',
    }),
    async stop() {
      isStopped = true;
      await client.close();
      await Promise.all(AGED_ECOSYSTEMS.map((ecosystem) => registries[ecosystem].stop()));
    },
  };
}

type Asked = 'timed' | 'failed' | 'unasked';

/** One call: all requested versions of an npm package, or all requested files of a Python version. */
interface Job {
  readonly subjects: Map<string, AgeSubject>;
}

function jobKeyOf({ ecosystem, name, version }: AgeSubject): string {
  return ecosystem === 'npm' ? name : `${name}\n${version}`;
}

/** Null if it takes longer. */
async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), timeoutMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
