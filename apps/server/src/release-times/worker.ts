import {
  afterFailure,
  afterSuccess,
  type Breaker,
  CLOSED_BREAKER,
  isFailing,
  mayCall,
} from '../platform/circuit-breaker.ts';
import type { Platform } from '../platform/platform.ts';
import { createTwoLaneQueue } from '../platform/two-lane-queue.ts';
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

/** Fetches times of release, through one queue for each registry. */
export function createReleaseTimes({
  platform,
  client,
  queueMax = QUEUE_MAX,
}: ReleaseTimesOptions): AgeSource {
  const registries = { npm: openRegistry(), pypi: openRegistry() };

  /** Every question is urgent: a request waits for it. */
  function openRegistry() {
    let breaker: Breaker = CLOSED_BREAKER;
    const queue = createTwoLaneQueue<AgeSubject, Asked>({
      keyOf: timeKey,
      groupOf: questionOf,
      async work({ items, isStopped, settle }) {
        const asked = await work(items, isStopped);
        settle(items, () => asked);
      },
      // An unavailable database says nothing about the registry.
      onError: (error) =>
        platform.log.error('times of release could not be stored', { error: String(error) }),
      notAsked: 'unasked',
      ...{ batchMax: 1, queueMax, concurrency: CONCURRENCY },
    });

    async function work(subjects: readonly AgeSubject[], isStopped: () => boolean): Promise<Asked> {
      if (!mayCall(breaker, { nowMs: platform.now(), urgent: true })) return 'failed';
      const cause = await askRegistry(platform, client, subjects);
      // A query aborted by a stopping server is not a failed registry.
      if (cause !== null && isStopped()) return 'unasked';
      const nowMs = platform.now();
      breaker = cause === null ? afterSuccess(nowMs) : afterFailure(breaker, nowMs);
      if (cause === null) return 'timed';
      // Fails open in `warn` (specification, "Advisory checks"); `block` reads unknown ages.
      const fields = { ecosystem: subjects[0]?.ecosystem, package: subjects[0]?.name, cause };
      platform.log.upstreamWarning('package_age source failed', fields);
      return 'failed';
    }

    return {
      async ask(subjects: readonly AgeSubject[], timeoutMs: number): Promise<Asked[]> {
        const asked = await queue.ask(subjects, { lane: 'urgent', timeoutMs });
        return subjects.map((subject) => asked.get(timeKey(subject)) ?? whenLate(subject));
      },
      isFailing: () => isFailing(breaker),
      stop: queue.stop,
    };

    /** A call to a failing registry that outlasts the wait counts as timed out. */
    function whenLate(subject: AgeSubject): Asked {
      return queue.isInProgress(subject) && isFailing(breaker) ? 'failed' : 'unasked';
    }
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
    const asked = await registries[ecosystem].ask(missing, timeoutMs);
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
      const idle = AGED_ECOSYSTEMS.map((ecosystem) => registries[ecosystem].stop());
      await client.close();
      await Promise.all(idle);
    },
  };
}

type Asked = 'timed' | 'failed' | 'unasked';

/** One call answers for all versions of an npm package, and for all files of a Python version. */
function questionOf({ ecosystem, name, version }: AgeSubject): string {
  return ecosystem === 'npm' ? name : `${name}\n${version}`;
}
