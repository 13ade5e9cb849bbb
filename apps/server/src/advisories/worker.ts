import type { Config } from '../config.ts';
import type { Platform } from '../platform/platform.ts';
import { checkPackages } from './check-packages.ts';
import {
  afterFailure,
  afterSuccess,
  type Breaker,
  CLOSED_BREAKER,
  isFailing,
  mayCall,
} from './circuit-breaker.ts';
import { fetchRecords } from './fetch-records.ts';
import { isFresh } from './freshness.ts';
import { BATCH_MAX_QUERIES, type OsvClient, type VulnerabilityId } from './osv-client.ts';
import { readChecks } from './store.ts';
import { distinctSubjects, type Subject, subjectKey } from './subjects.ts';

export type AdvisoryStatus = 'ok' | 'loading' | 'stale' | 'unreachable' | 'off';

/**
 * `judged`: every subject has a fresh check. `unreachable`: the source failed for one of them, or is known to be down.
 * `pending`: not judged yet, and nothing says that the source is down.
 */
export type Judged = 'judged' | 'pending' | 'unreachable';

export interface AdvisoryWorker {
  /** Waits for checks of the subjects, never longer than `timeoutMs`. Never calls out itself. */
  ensureJudged(subjects: readonly Subject[], timeoutMs: number): Promise<Judged>;
  /** The same behind everything that somebody waits for; what does not fit into the queue is not asked. */
  judgeInBackground(subjects: readonly Subject[], timeoutMs: number): Promise<Judged>;
  status(): AdvisoryStatus;
  stop(): Promise<void>;
}

export interface WorkerOptions {
  readonly platform: Platform;
  readonly config: Pick<Config, 'advisorySource' | 'advisoryMaxAgeHours'>;
  readonly client: OsvClient;
}

/** Most subjects that wait in one lane. */
export const QUEUE_MAX = 50_000;
const RECORDS_BACKLOG_MAX = 20_000;
const RECORDS_A_ROUND = 500;

/** Two lanes over one source: what an operator waits for never stands behind the re-check of the fleet. */
export function createAdvisoryWorker(options: WorkerOptions): AdvisoryWorker {
  const { platform, config, client } = options;
  const maxAgeMs = config.advisoryMaxAgeHours * 3_600_000;
  // The mirror is not there yet: what would come from it alone cannot be asked.
  const isOn = config.advisorySource === 'api' || config.advisorySource === 'mirror+api';
  const waiters = new Map<string, Set<Waiter>>();
  const backlog = new Map<string, VulnerabilityId>();
  let breaker: Breaker = CLOSED_BREAKER;
  let isStopped = false;
  const urgent = createLane((subjects) => round(subjects, true));
  const background = createLane((subjects) => round(subjects, false));

  async function round(subjects: readonly Subject[], isUrgent: boolean): Promise<void> {
    if (!mayCall(breaker, { nowMs: platform.now(), urgent: isUrgent })) {
      settle(subjects, new Set(subjects.map(subjectKey)));
      return;
    }
    const outcome = await checkPackages(platform, client, subjects);
    const nowMs = platform.now();
    breaker = outcome.cause === null ? afterSuccess(nowMs) : afterFailure(breaker, nowMs);
    if (outcome.cause !== null && !isStopped) {
      // Fails open for the badge (specification, "Advisory checks"); approvals read `unchecked`.
      const fields = { cause: outcome.cause, packages: outcome.failed.size };
      platform.log.upstreamWarning('supply_chain advisory source failed', fields);
    }
    settle(subjects, outcome.failed);
    for (const one of outcome.missingRecords) {
      if (backlog.size < RECORDS_BACKLOG_MAX) backlog.set(one.id, one);
    }
    if (!isUrgent) await workOffBacklog();
  }

  function settle(subjects: readonly Subject[], failed: ReadonlySet<string>): void {
    for (const key of subjects.map(subjectKey)) {
      const waiting = waiters.get(key);
      waiters.delete(key);
      for (const waiter of waiting ?? []) waiter.done(key, failed.has(key));
    }
  }

  async function workOffBacklog(): Promise<void> {
    const ids = [...backlog.values()].slice(0, RECORDS_A_ROUND);
    for (const { id } of ids) backlog.delete(id);
    if (ids.length > 0) await fetchRecords(platform, client, { ids, most: RECORDS_A_ROUND });
  }

  async function staleOf(subjects: readonly Subject[]): Promise<Subject[]> {
    const distinct = distinctSubjects(subjects);
    const checks = await readChecks(platform.database.read, distinct);
    const at = { nowMs: platform.now(), maxAgeMs };
    return distinct.filter((subject) => !isFresh(checks.get(subjectKey(subject)), at));
  }

  async function judge(lane: Lane, subjects: readonly Subject[], timeoutMs: number): Promise<Judged> {
    const missing = await staleOf(subjects);
    if (missing.length === 0) return 'judged';
    if (!isOn || isStopped) return 'unreachable';
    const other = lane === urgent ? background : urgent;
    const waiter = createWaiter(missing.map(subjectKey));
    for (const subject of missing) addTo(waiters, subjectKey(subject), waiter);
    for (const subject of missing) {
      if (!other.isBusyWith(subject) && !lane.add(subject)) waiter.done(subjectKey(subject), true);
    }
    const outcome = await waiter.wait(timeoutMs);
    for (const subject of missing) removeFrom(waiters, subjectKey(subject), waiter);
    if (outcome !== 'pending') return outcome;
    return isFailing(breaker) ? 'unreachable' : 'pending';
  }

  /** A lane: a bounded set of subjects, worked off a batch at a time by one runner. */
  function createLane(work: (subjects: readonly Subject[]) => Promise<void>): Lane {
    const queue = new Map<string, Subject>();
    const inFlight = new Set<string>();
    let running: Promise<void> | null = null;
    async function run(): Promise<void> {
      await Promise.resolve();
      while (queue.size > 0 && !isStopped) {
        const batch = [...queue].slice(0, BATCH_MAX_QUERIES);
        for (const [key] of batch) {
          queue.delete(key);
          inFlight.add(key);
        }
        const subjects = batch.map(([, subject]) => subject);
        try {
          await work(subjects);
        } catch (error) {
          platform.log.error('advisory round failed', { error: String(error) });
          settle(subjects, new Set(batch.map(([key]) => key)));
        }
        inFlight.clear();
      }
      // In the same turn as the last look at the queue: what is added from now on starts a new run.
      running = null;
    }
    return {
      add(subject) {
        const key = subjectKey(subject);
        if (inFlight.has(key)) return true;
        if (queue.size >= QUEUE_MAX && !queue.has(key)) return false;
        queue.set(key, subject);
        running ??= run();
        return true;
      },
      isBusyWith: (subject) => inFlight.has(subjectKey(subject)),
      idle: () => running ?? Promise.resolve(),
    };
  }

  return {
    ensureJudged: (subjects, timeoutMs) => judge(urgent, subjects, timeoutMs),
    judgeInBackground: (subjects, timeoutMs) => judge(background, subjects, timeoutMs),
    status() {
      if (config.advisorySource === 'off') return 'off';
      if (!isOn) return 'loading';
      return isFailing(breaker) ? 'unreachable' : 'ok';
    },
    async stop() {
      isStopped = true;
      await client.close();
      // Nobody is left to wait for what will not be asked any more.
      for (const [key, waiting] of [...waiters]) for (const waiter of waiting) waiter.done(key, true);
      await Promise.all([urgent.idle(), background.idle()]);
    },
  };
}

interface Lane {
  /** False where the queue is full. */
  add(subject: Subject): boolean;
  isBusyWith(subject: Subject): boolean;
  idle(): Promise<void>;
}

interface Waiter {
  done(key: string, hasFailed: boolean): void;
  wait(timeoutMs: number): Promise<Judged>;
}

function createWaiter(keys: readonly string[]): Waiter {
  const open = new Set(keys);
  const { promise, resolve } = Promise.withResolvers<Judged>();
  let outcome: 'judged' | 'unreachable' = 'judged';
  return {
    done(key, hasFailed) {
      if (!open.delete(key)) return;
      if (hasFailed) outcome = 'unreachable';
      if (open.size === 0) resolve(outcome);
    },
    async wait(timeoutMs) {
      const timer = setTimeout(() => resolve('pending'), timeoutMs);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function addTo<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}

function removeFrom<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
