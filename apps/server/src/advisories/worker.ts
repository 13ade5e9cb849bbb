import type { Config } from '../config.ts';
import {
  afterFailure,
  afterSuccess,
  type Breaker,
  CLOSED_BREAKER,
  isFailing,
  mayCall,
} from '../platform/circuit-breaker.ts';
import type { Platform } from '../platform/platform.ts';
import { checkPackages } from './check-packages.ts';
import { fetchRecords } from './fetch-records.ts';
import { isFresh } from './freshness.ts';
import type { Gap, MirrorAnswer, MirrorJudge } from './mirror/judge-from-mirror.ts';
import type { MirrorHealth } from './mirror/keeper.ts';
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
  /** Whether the API failed last, and when it last answered; null where it never did. */
  api(): { readonly isFailing: boolean; readonly answeredAtMs: number | null };
  stop(): Promise<void>;
}

/** The mirror as the worker sees it. */
export interface WorkerMirror extends MirrorJudge {
  health(): MirrorHealth;
  /** Somebody waits for packages of this ecosystem, of which the mirror has nothing. */
  need(ecosystem: string): void;
}

export interface WorkerOptions {
  readonly platform: Platform;
  readonly config: Pick<Config, 'advisorySource' | 'advisoryMaxAgeHours'>;
  readonly client: OsvClient;
  /** Asked before the API; null where there is none. */
  readonly mirror?: WorkerMirror | null;
}

/** Most subjects that wait in one lane. */
export const QUEUE_MAX = 50_000;
const RECORDS_BACKLOG_MAX = 20_000;
const RECORDS_A_ROUND = 500;
/**
 * Longest call that somebody waits for, in milliseconds: a little shorter than they wait, so that they hear that the
 * source timed out (reading 5). One that has failed is tried only as long as that is no wait.
 */
const URGENT_CALL_MS = 9_000;
const TRIAL_CALL_MS = 2_000;

/** Two lanes over one source: what an operator waits for never stands behind the re-check of the fleet. */
export function createAdvisoryWorker(options: WorkerOptions): AdvisoryWorker {
  const { platform, config, client, mirror = null } = options;
  const maxAgeMs = config.advisoryMaxAgeHours * 3_600_000;
  const asksApi = config.advisorySource === 'api' || config.advisorySource === 'mirror+api';
  const waiters = new Map<string, Set<Waiter>>();
  const backlog = new Map<string, VulnerabilityId>();
  let breaker: Breaker = CLOSED_BREAKER;
  let isStopped = false;
  const urgent = createLane((subjects) => round(subjects, true));
  const background = createLane((subjects) => round(subjects, false));

  /** First the mirror, then the API for what it has no answer to. */
  async function round(subjects: readonly Subject[], isUrgent: boolean): Promise<void> {
    const { left, snapshots } = await askMirror(subjects);
    settle(
      subjects.filter((subject) => !left.has(subjectKey(subject))),
      () => 'judged',
    );
    const rest = [...left.values()].map(({ subject }) => subject);
    if (rest.length === 0) return;
    if (!asksApi) {
      // While the first load is under way nothing says that there will be no answer (reading 5).
      settle(rest, (key) => (left.get(key)?.gap === 'loading' ? 'pending' : 'unreachable'));
      return;
    }
    // A2: a source that failed is a source that failed, also where the mirror may have an answer in an hour.
    if (!mayCall(breaker, { nowMs: platform.now(), urgent: isUrgent })) {
      settle(rest, () => 'unreachable');
      return;
    }
    const failed = await askApi(rest, { snapshots, isUrgent });
    settle(rest, (key) => (failed.has(key) ? 'unreachable' : 'judged'));
    if (!isUrgent) await workOffBacklog();
  }

  async function askMirror(subjects: readonly Subject[]): Promise<MirrorAnswer> {
    const nobody = new Map(subjects.map((subject) => [subjectKey(subject), { subject, gap: ABSENT }]));
    if (!mirror) return { left: nobody, snapshots: new Map() };
    const answer = await mirror.judge(subjects);
    const changed = [...answer.left.values()].filter(({ gap }) => gap === 'changed');
    const again = changed.length > 0 ? await mirror.judge(changed.map(({ subject }) => subject)) : null;
    const unchanged = [...answer.left].filter(([, { gap }]) => gap !== 'changed');
    const left = new Map([...unchanged, ...(again?.left ?? [])]);
    for (const { subject, gap } of left.values()) if (gap === 'loading') mirror.need(subject.ecosystem);
    return { left, snapshots: new Map([...answer.snapshots, ...(again?.snapshots ?? [])]) };
  }

  /** Keys of those that the API gave no answer to. */
  async function askApi(
    subjects: readonly Subject[],
    { snapshots, isUrgent }: { snapshots: MirrorAnswer['snapshots']; isUrgent: boolean },
  ): Promise<ReadonlySet<string>> {
    const timeoutMs = isFailing(breaker) ? TRIAL_CALL_MS : URGENT_CALL_MS;
    const limits = isUrgent ? { snapshots, timeoutMs } : { snapshots };
    const outcome = await checkPackages(platform, client, subjects, limits);
    const nowMs = platform.now();
    breaker = outcome.cause === null ? afterSuccess(nowMs) : afterFailure(breaker, nowMs);
    if (outcome.cause !== null && !isStopped) {
      // Fails open for the badge (specification, "Advisory checks"); approvals read `unchecked`.
      const fields = { cause: outcome.cause, packages: outcome.failed.size };
      platform.log.upstreamWarning('supply_chain advisory source failed', fields);
    }
    for (const one of outcome.missingRecords) {
      if (backlog.size < RECORDS_BACKLOG_MAX) backlog.set(one.id, one);
    }
    return outcome.failed;
  }

  function settle(subjects: readonly Subject[], outcomeOf: (key: string) => Judged): void {
    for (const key of subjects.map(subjectKey)) {
      const waiting = waiters.get(key);
      waiters.delete(key);
      for (const waiter of waiting ?? []) waiter.done(key, outcomeOf(key));
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
    if ((!asksApi && !mirror) || isStopped) return 'unreachable';
    const waiter = createWaiter(missing.map(subjectKey));
    for (const subject of missing) addTo(waiters, subjectKey(subject), waiter);
    for (const subject of missing) {
      // What is asked with urgency is not asked twice; nobody waits for a call that the background may wait long for.
      if (lane === background && urgent.isBusyWith(subject)) continue;
      if (!lane.add(subject)) waiter.done(subjectKey(subject), 'unreachable');
    }
    const outcome = await waiter.wait(timeoutMs);
    for (const subject of missing) removeFrom(waiters, subjectKey(subject), waiter);
    if (outcome !== 'late') return outcome;
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
          settle(subjects, () => 'unreachable');
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
      const health = mirror?.health() ?? (asksApi ? 'absent' : 'loading');
      if (health === 'ok' || health === 'loading') return health;
      if (asksApi && !isFailing(breaker)) return 'ok';
      return health === 'stale' ? 'stale' : 'unreachable';
    },
    api: () => ({ isFailing: isFailing(breaker), answeredAtMs: breaker.lastSuccessAtMs }),
    async stop() {
      isStopped = true;
      await client.close();
      // Nobody is left to wait for what will not be asked any more.
      for (const [key, waiting] of [...waiters])
        for (const waiter of waiting) waiter.done(key, 'unreachable');
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
  done(key: string, outcome: Judged): void;
  /** `late` where the time was over before the last of them was done. */
  wait(timeoutMs: number): Promise<Judged | 'late'>;
}

const WORST_LAST: readonly Judged[] = ['judged', 'unreachable', 'pending'];
const ABSENT: Gap = 'absent';

function createWaiter(keys: readonly string[]): Waiter {
  const open = new Set(keys);
  const { promise, resolve } = Promise.withResolvers<Judged | 'late'>();
  let worst: Judged = 'judged';
  return {
    done(key, outcome) {
      if (!open.delete(key)) return;
      // What is still to come stops more than what failed: nothing slips through while the server warms up.
      if (WORST_LAST.indexOf(outcome) > WORST_LAST.indexOf(worst)) worst = outcome;
      if (open.size === 0) resolve(worst);
    },
    async wait(timeoutMs) {
      const timer = setTimeout(() => resolve('late'), timeoutMs);
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
