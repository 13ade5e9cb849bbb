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
import { type Batch, createTwoLaneQueue, type Lane } from '../platform/two-lane-queue.ts';
import { type Answers, querySource, RECORDS_BEFORE_VERDICT, storeAnswers } from './check-packages.ts';
import { fetchRecords, type WantedRecord } from './fetch-records.ts';
import { isFresh } from './freshness.ts';
import type { Gap, MirrorAnswer, MirrorJudge } from './mirror/matching/judge-from-mirror.ts';
import type { MirrorHealth } from './mirror/mirror-refresher.ts';
import { baseOf } from './mirror/snapshot.ts';
import { BATCH_MAX_QUERIES, type OsvClient } from './osv-client.ts';
import { readChecks } from './store.ts';
import { distinctSubjects, type Subject, subjectKey } from './subjects.ts';
import { type ApiState, type Outcome, outcomeWithout, worstOf } from './worker-rules.ts';

export type AdvisoryStatus = 'ok' | 'loading' | 'stale' | 'missing' | 'unreachable' | 'off';

export interface Judged {
  /** The worst of all subjects. */
  readonly outcome: Outcome;
  /** Keys for which every source failed; anything else without a fresh check is not known yet. */
  readonly unreachable: ReadonlySet<string>;
}

export interface AdvisoryWorker {
  /** Waits for checks of the subjects, at most `timeoutMs`. Never calls out itself. */
  ensureJudged(subjects: readonly Subject[], timeoutMs: number): Promise<Judged>;
  /** The same at lower priority than any waiting request; subjects beyond the queue are not queried. */
  judgeInBackground(subjects: readonly Subject[], timeoutMs: number): Promise<Judged>;
  /**
   * Fetches records that a check names and that are not stored, because a call failed or a server ended in between. Returns
   * at once; one that cannot be had is tried again after a while.
   */
  wantRecords(ids: readonly string[]): void;
  status(): AdvisoryStatus;
  /** Whether the last call to the API failed, and when it last answered; null: never. */
  api(): { readonly isFailing: boolean; readonly answeredAtMs: number | null };
  stop(): Promise<void>;
}

/** The part of the mirror that the worker uses. */
export interface WorkerMirror extends MirrorJudge {
  health(): MirrorHealth;
  /** A request waits for packages of this ecosystem, of which the mirror has no data. */
  need(ecosystem: string): void;
}

export interface WorkerOptions {
  readonly platform: Platform;
  readonly config: Pick<Config, 'advisorySource' | 'advisoryMaxAgeHours'>;
  readonly client: OsvClient;
  /** Queried before the API; null without a mirror. */
  readonly mirror?: WorkerMirror | null;
  /** Most waiting subjects per lane; QUEUE_MAX by default. */
  readonly queueMax?: number;
}

/** Most waiting subjects per lane. */
export const QUEUE_MAX = 50_000;
const RECORDS_BACKLOG_MAX = 20_000;
const RECORDS_A_ROUND = 500;
/** After this time a record that could not be had is tried again, in milliseconds. */
const RECORD_RETRY_MS = 15 * 60_000;
/** How often the mirror is queried again because its data changed meanwhile. */
const MIRROR_ATTEMPTS = 5;
/**
 * Longest call for a waiting request, in milliseconds: slightly shorter than the request waits, so that it learns of the
 * timeout (reading 5). After a failure a call is only a short trial.
 */
const URGENT_CALL_MS = 9_000;
const TRIAL_CALL_MS = 2_000;

/** Two lanes over one source: an operator's request never queues behind the re-check of the fleet. */
export function createAdvisoryWorker(options: WorkerOptions): AdvisoryWorker {
  const { platform, config, client, mirror = null, queueMax = QUEUE_MAX } = options;
  const maxAgeMs = config.advisoryMaxAgeHours * 3_600_000;
  const asksApi = config.advisorySource === 'api' || config.advisorySource === 'mirror+api';
  const backlog = new Map<string, WantedRecord>();
  /** When records that are not stored were tried last. */
  const tried = new Map<string, number>();
  let fetching: Promise<void> | null = null;
  /** Subjects now queried at the API because the mirror had no answer, with the mirror's reason. */
  const atApi = new Map<string, Gap>();
  let breaker: Breaker = CLOSED_BREAKER;
  let isStopped = false;
  const queue = createTwoLaneQueue<Subject, Outcome>({
    keyOf: subjectKey,
    work: round,
    onError: (error) => platform.log.error('advisory round failed', { error: String(error) }),
    // Neither a full queue nor an unavailable database says anything about the sources.
    notAsked: 'pending',
    ...{ batchMax: BATCH_MAX_QUERIES, queueMax, concurrency: 1 },
  });

  /** Queries the mirror, then the API for the rest. */
  async function round({ items, lane, settle }: Batch<Subject, Outcome>): Promise<void> {
    const isUrgent = lane === 'urgent';
    const { left, snapshots } = await askMirror(items);
    settle(
      items.filter((subject) => !left.has(subjectKey(subject))),
      () => 'judged',
    );
    const rest = [...left.values()].map(({ subject }) => subject);
    if (rest.length === 0) return;
    const settleRest = (api: ApiState) =>
      settle(rest, (key) => outcomeWithout(left.get(key)?.gap ?? ABSENT, api));
    if (!asksApi) return settleRest('unused');
    if (!mayCall(breaker, { nowMs: platform.now(), urgent: isUrgent })) return settleRest('failed');
    for (const [key, { gap }] of left) atApi.set(key, gap);
    try {
      const answers = await askApi(rest, { isUrgent });
      const unknown = await keepAnswers(rest, { answers, snapshots });
      await fetchFound(answers);
      settle(rest, (key) => unknown.get(key) ?? 'judged');
    } finally {
      for (const key of left.keys()) atApi.delete(key);
    }
    if (!isUrgent) await workOffBacklog();
  }

  async function askMirror(subjects: readonly Subject[]): Promise<MirrorAnswer> {
    const nobody = new Map(subjects.map((subject) => [subjectKey(subject), { subject, gap: ABSENT }]));
    if (!mirror) return { left: nobody, snapshots: new Map() };
    let answer = await mirror.judge(subjects);
    for (let attempt = 1; attempt < MIRROR_ATTEMPTS; attempt++) {
      const changed = [...answer.left.values()].filter(({ gap }) => gap === 'changed');
      if (changed.length === 0) break;
      const again = await mirror.judge(changed.map(({ subject }) => subject));
      const unchanged = [...answer.left].filter(([, { gap }]) => gap !== 'changed');
      answer = {
        left: new Map([...unchanged, ...again.left]),
        snapshots: new Map([...answer.snapshots, ...again.snapshots]),
      };
    }
    for (const { subject, gap } of answer.left.values())
      if (gap === 'loading') mirror.need(subject.ecosystem);
    return answer;
  }

  async function askApi(subjects: readonly Subject[], { isUrgent }: { isUrgent: boolean }): Promise<Answers> {
    const timeoutMs = isFailing(breaker) ? TRIAL_CALL_MS : URGENT_CALL_MS;
    const answers = await querySource(platform, client, subjects, isUrgent ? { timeoutMs } : {});
    const nowMs = platform.now();
    // A source that answers some queries is reachable: one odd package must not block it for the others.
    breaker = answers.failed.size < subjects.length ? afterSuccess(nowMs) : afterFailure(breaker, nowMs);
    if (answers.cause !== null && !isStopped) {
      // Fails open for the badge (specification, "Advisory checks"); approvals see `unchecked`.
      const fields = { cause: answers.cause, packages: answers.failed.size };
      platform.log.upstreamWarning('supply_chain advisory source failed', fields);
    }
    return answers;
  }

  /**
   * Stores the API's answers. If the mirror has changed since the query, it is queried again: its answer counts, and the
   * API's only where the mirror still has none. Returns the outcomes of subjects that are still not judged.
   */
  async function keepAnswers(
    subjects: readonly Subject[],
    { answers, snapshots }: { answers: Answers; snapshots: MirrorAnswer['snapshots'] },
  ): Promise<Map<string, Outcome>> {
    const unknown = new Map<string, Outcome>();
    let open: readonly Subject[] = subjects;
    let seen = snapshots;
    for (let attempt = 1; ; attempt++) {
      const checks = open.flatMap((subject) => answers.checks.get(subjectKey(subject)) ?? []);
      const overtaken = await storeAnswers(platform, { checks, bases: open, snapshots: seen });
      const stands = open.filter(({ ecosystem }) => !overtaken.has(baseOf(ecosystem)));
      for (const key of stands.map(subjectKey)) {
        if (answers.failed.has(key)) unknown.set(key, outcomeWithout(atApi.get(key) ?? ABSENT, 'failed'));
      }
      open = open.filter(({ ecosystem }) => overtaken.has(baseOf(ecosystem)));
      if (open.length === 0) return unknown;
      if (attempt === MIRROR_ATTEMPTS) break;
      const { left, snapshots: now } = await askMirror(open);
      for (const [key, { gap }] of left) atApi.set(key, gap);
      open = [...left.values()].map(({ subject }) => subject);
      seen = now;
    }
    for (const key of open.map(subjectKey)) unknown.set(key, 'pending');
    return unknown;
  }

  async function fetchFound({ ids }: Answers): Promise<void> {
    const missing = await fetchRecords(platform, client, { ids, most: RECORDS_BEFORE_VERDICT });
    for (const one of missing) if (backlog.size < RECORDS_BACKLOG_MAX) backlog.set(one.id, one);
  }

  async function workOffBacklog(): Promise<void> {
    const ids = [...backlog.values()].slice(0, RECORDS_A_ROUND);
    for (const { id } of ids) backlog.delete(id);
    if (ids.length > 0) await fetchRecords(platform, client, { ids, most: RECORDS_A_ROUND });
  }

  function wantRecords(ids: readonly string[]): void {
    const nowMs = platform.now();
    if (!asksApi || isStopped || !mayCall(breaker, { nowMs, urgent: false })) return;
    if (tried.size > RECORDS_BACKLOG_MAX) tried.clear();
    for (const id of ids) {
      if (backlog.has(id) || backlog.size >= RECORDS_BACKLOG_MAX) continue;
      const ageMs = nowMs - (tried.get(id) ?? Number.NEGATIVE_INFINITY);
      if (ageMs >= 0 && ageMs < RECORD_RETRY_MS) continue;
      tried.set(id, nowMs);
      backlog.set(id, { id, modified: null });
    }
    fetching ??= workOffBacklog()
      .catch((error: unknown) => platform.log.error('records were not stored', { error: String(error) }))
      .finally(() => {
        fetching = null;
      });
  }

  async function staleOf(subjects: readonly Subject[]): Promise<Subject[]> {
    const distinct = distinctSubjects(subjects);
    const checks = await readChecks(platform.database.read, distinct);
    const at = { nowMs: platform.now(), maxAgeMs };
    return distinct.filter((subject) => !isFresh(checks.get(subjectKey(subject)), at));
  }

  async function judge(lane: Lane, subjects: readonly Subject[], timeoutMs: number): Promise<Judged> {
    const missing = await staleOf(subjects);
    const keys = missing.map(subjectKey);
    if (keys.length === 0) return { outcome: 'judged', unreachable: NONE };
    if (!asksApi && !mirror) return { outcome: 'unreachable', unreachable: new Set(keys) };
    const said = await queue.ask(missing, { lane, timeoutMs });
    const outcomes = new Map(keys.map((key) => [key, said.get(key) ?? whenLate(key)]));
    return {
      outcome: worstOf(outcomes.values()),
      unreachable: new Set(keys.filter((key) => outcomes.get(key) === 'unreachable')),
    };
  }

  /** A call to a failing API that outlasts the wait counts as timed out. */
  function whenLate(key: string): Outcome {
    const gap = atApi.get(key);
    if (gap === undefined || isStopped) return 'pending';
    return outcomeWithout(gap, isFailing(breaker) ? 'failed' : 'under_way');
  }

  return {
    ensureJudged: (subjects, timeoutMs) => judge('urgent', subjects, timeoutMs),
    judgeInBackground: (subjects, timeoutMs) => judge('background', subjects, timeoutMs),
    wantRecords,
    status() {
      if (config.advisorySource === 'off') return 'off';
      const isAnswered = asksApi && !isFailing(breaker);
      const health = mirror?.health() ?? (asksApi ? 'absent' : 'loading');
      if (health === 'stale') return isAnswered ? 'ok' : 'stale';
      if (health !== 'absent') return health;
      if (!isAnswered) return 'unreachable';
      // The API stands in, but what the mirror should hold is not there.
      return mirror ? 'missing' : 'ok';
    },
    api: () => ({ isFailing: isFailing(breaker), answeredAtMs: breaker.lastSuccessAtMs }),
    async stop() {
      isStopped = true;
      const idle = queue.stop();
      await client.close();
      await idle;
      await fetching;
    },
  };
}

const ABSENT: Gap = 'absent';
const NONE: ReadonlySet<string> = new Set();
