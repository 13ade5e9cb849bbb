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
 * `judged`: whatever the registry knows is stored. `unreachable`: it was asked about every subject, and failed for one.
 * `pending`: not known yet for one of them, for whatever reason; it is asked about again.
 */
export type SourceOutcome = 'judged' | 'pending' | 'unreachable';
export type AgeOutcomes = Readonly<Record<AgedEcosystem, SourceOutcome>>;

/** Where times of release come from (A7); like the advisory worker it is waited for and never called out to. */
export interface AgeSource {
  /** Waits until the times of the subjects are stored, never longer than `timeoutMs`. Never calls out itself. */
  ensureTimed(subjects: readonly AgeSubject[], timeoutMs: number): Promise<AgeOutcomes>;
  /** What is known of the registries without asking: `pending` unless one failed last. */
  outcomes(): AgeOutcomes;
  stop(): Promise<void>;
}

/** Most packages that wait for one registry. */
export const QUEUE_MAX = 20_000;
/** Packages that one registry is asked about at once. */
const CONCURRENCY = 4;
/** After this time a version without a time is asked about again, in milliseconds. */
export const UNKNOWN_RETRY_MS = 15 * 60_000;

export interface ReleaseTimesOptions {
  readonly platform: Platform;
  readonly client: RegistryClient;
  readonly queueMax?: number;
}

/** Asks the registries for times of release: one runner for each, a package at a time, whoever asked for it. */
export function createReleaseTimes({
  platform,
  client,
  queueMax = QUEUE_MAX,
}: ReleaseTimesOptions): AgeSource {
  let isStopped = false;
  const registries = { npm: createRegistry(), pypi: createRegistry() };

  /** A bounded queue in front of one registry; what is asked for twice is asked once. */
  function createRegistry() {
    const queue = new Map<string, Job>();
    const waiting = new Map<string, PromiseWithResolvers<Asked>>();
    const inFlight = new Set<string>();
    let breaker: Breaker = CLOSED_BREAKER;
    let running = 0;
    let idle = Promise.withResolvers<void>();
    idle.resolve();

    /** Done when the subject was asked about; it never rejects. */
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
      // Everybody who asks in the same turn is in the same job.
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
        // What is cut off by a server that stops is no registry that failed.
        if (cause !== null && isStopped) return 'unasked';
        const nowMs = platform.now();
        breaker = cause === null ? afterSuccess(nowMs) : afterFailure(breaker, nowMs);
        if (cause === null) return 'timed';
        // Fails open in `warn` (specification, "Advisory checks"); `block` reads unknown ages.
        const fields = { ecosystem: subjects[0]?.ecosystem, package: subjects[0]?.name, cause };
        platform.log.upstreamWarning('package_age source failed', fields);
        return 'failed';
      } catch (error) {
        // A database that is away says nothing about the registry.
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
      /** A call that takes longer than the wait, to a registry that failed last, has timed out. */
      whenLate: (subject: AgeSubject): Asked => {
        return inFlight.has(timeKey(subject)) && isFailing(breaker) ? 'failed' : 'unasked';
      },
      /** Nobody is left to wait for what will not be asked any more. */
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
      // What stops an update is asked about again: a registry may list a version later than its mirrors.
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

/** One call: all versions of an npm package that are asked for, all files of a Python version. */
interface Job {
  readonly subjects: Map<string, AgeSubject>;
}

function jobKeyOf({ ecosystem, name, version }: AgeSubject): string {
  return ecosystem === 'npm' ? name : `${name}\n${version}`;
}

/** Null where it takes longer. */
async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), timeoutMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
