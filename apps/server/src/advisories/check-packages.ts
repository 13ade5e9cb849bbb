import type { Platform } from '../platform/platform.ts';
import { baseOf, snapshotMark } from './mirror/snapshot.ts';
import { lockSnapshot } from './mirror/store.ts';
import { BATCH_MAX_QUERIES, type OsvClient, type SubjectAnswer, type VulnerabilityId } from './osv-client.ts';
import { type Check, readChecks, readCoverage, saveChecks, saveCoverage } from './store.ts';
import { distinctSubjects, type Subject, subjectKey } from './subjects.ts';

/** How long a coverage answer of a database counts, in milliseconds. */
export const COVERAGE_MAX_AGE_MS = 24 * 60 * 60 * 1_000;
/** Packages with many records in every distribution: at version 0 at least one must have hits. */
const SENTINELS = ['openssl', 'linux', 'kernel'];
/** Registries whose coverage needs no probe. */
const ALWAYS_COVERED: ReadonlySet<string> = new Set(['npm', 'PyPI']);
/** Records fetched before a round ends; the rest comes later and is only for display. */
export const RECORDS_BEFORE_VERDICT = 200;

export interface CheckLimits {
  /** Longest time for one call, in milliseconds; by default the client's own. */
  readonly timeoutMs?: number;
}

export interface Answers {
  /** By `subjectKey`, as of the time of the query. */
  readonly checks: ReadonlyMap<string, Check>;
  /** Keys of the subjects that could not be queried completely. */
  readonly failed: ReadonlySet<string>;
  /** The cause, for the log; null when nothing failed. */
  readonly cause: string | null;
  /** All ids found. */
  readonly ids: readonly VulnerabilityId[];
}

/** Queries the source about distinct subjects (at most one batch). */
export async function querySource(
  platform: Platform,
  client: OsvClient,
  given: readonly Subject[],
  limits: CheckLimits = {},
): Promise<Answers> {
  const subjects = distinctSubjects(given).slice(0, BATCH_MAX_QUERIES);
  const known = { checkedAtMs: platform.now(), source: 'api', snapshot: null };
  // In parallel: a hanging source costs one wait, not two.
  const [coverage, answers] = await Promise.all([
    probeCoverage(platform, client, { subjects, limits }),
    client.query(subjects, limits),
  ]);
  const checks = new Map<string, Check>();
  const failed = new Set<string>();
  let cause = coverage.cause;
  for (const [index, subject] of subjects.entries()) {
    const key = subjectKey(subject);
    const answer = answers[index];
    const check = answer && judge({ answer, covered: coverage.of(subject.ecosystem) });
    if (check) checks.set(key, { ...check, subject, ...known });
    if (!check || check.reason === 'unreachable') failed.add(key);
    if (answer && 'cause' in answer) cause = answer.cause;
  }
  return { checks, failed, cause, ids: answers.flatMap((answer) => ('ids' in answer ? answer.ids : [])) };
}

/**
 * Stores answers of the source. Failed queries store nothing: the last answer counts until it is too old, and then the
 * subject is unchecked. Answers about an ecosystem whose snapshot changed since the query are dropped, so that they do not
 * replace what the mirror has learnt since. Returns these ecosystems.
 */
export async function storeAnswers(
  platform: Platform,
  {
    checks,
    bases,
    snapshots,
  }: { checks: readonly Check[]; bases: readonly Subject[]; snapshots: ReadonlyMap<string, string> },
): Promise<ReadonlySet<string>> {
  const { engine } = platform.database;
  const named = new Set(bases.map(({ ecosystem }) => baseOf(ecosystem)));
  return platform.database.transact(async (tx) => {
    const overtaken = new Set<string>();
    // Same order for every writer, so that two replicas do not deadlock.
    for (const [base, before] of [...snapshots].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      if (named.has(base) && snapshotMark(await lockSnapshot(tx, { base, engine })) !== before)
        overtaken.add(base);
    }
    const current = checks.filter(({ subject }) => !overtaken.has(baseOf(subject.ecosystem)));
    const stored = await readChecks(
      tx,
      current.map(({ subject }) => subject),
    );
    const nowMs = platform.now();
    await saveChecks(
      tx,
      current.flatMap((check) => merged(check, stored.get(subjectKey(check.subject)), nowMs) ?? []),
      { keeps: 'nothing', nowMs },
    );
    return overtaken;
  });
}

/** The check to store in place of the stored one; null when the stored one is later. */
function merged(check: Check, stored: Check | undefined, nowMs: number): Check | null {
  const isLater = stored && stored.checkedAtMs > check.checkedAtMs && stored.checkedAtMs <= nowMs;
  if (isLater) return null;
  // A partial answer removes nothing that was known.
  if (check.reason !== 'unreachable' || stored?.verdict !== 'vulnerable') return check;
  return { ...check, ids: [...new Set([...stored.ids, ...check.ids])].toSorted() };
}

type Judged = Pick<Check, 'verdict' | 'reason' | 'ids'>;

/** Null when the source could not be queried. `covered` is null when the coverage query failed as well. */
function judge({ answer, covered }: { answer: SubjectAnswer; covered: boolean | null }): Judged | null {
  switch (answer.kind) {
    case 'hits':
      if (answer.ids.length > 0) return { verdict: 'vulnerable', reason: null, ids: idsOf(answer.ids) };
      if (covered === null) return null;
      // An empty answer for a release that the source does not cover is not "clean".
      if (!covered) return { verdict: 'unchecked', reason: 'uncovered', ids: [] };
      return { verdict: 'clear', reason: null, ids: [] };
    case 'refused':
      return { verdict: 'unchecked', reason: 'undecidable', ids: [] };
    case 'unreachable':
    case 'garbage':
      if (answer.ids.length === 0) return null;
      return { verdict: 'vulnerable', reason: 'unreachable', ids: idsOf(answer.ids) };
  }
}

function idsOf(ids: readonly VulnerabilityId[]): string[] {
  return ids.map(({ id }) => id).toSorted();
}

interface Coverage {
  of(ecosystem: string): boolean | null;
  readonly cause: string | null;
}

async function probeCoverage(
  platform: Platform,
  client: OsvClient,
  { subjects, limits }: { subjects: readonly Subject[]; limits: CheckLimits },
): Promise<Coverage> {
  const known = await readCoverage(platform.database.read);
  const covered = new Map<string, boolean | null>();
  let cause: string | null = null;
  for (const ecosystem of new Set(subjects.map((subject) => subject.ecosystem))) {
    const last = known.get(ecosystem);
    if (ALWAYS_COVERED.has(ecosystem)) {
      covered.set(ecosystem, true);
    } else if (last && platform.now() - last.checkedAtMs < COVERAGE_MAX_AGE_MS) {
      covered.set(ecosystem, last.covered);
    } else {
      const answers = await client.query(
        SENTINELS.map((name) => ({ ecosystem, name, version: '0' })),
        limits,
      );
      const outcome = coverageOf(answers);
      covered.set(ecosystem, outcome);
      if (outcome === null) cause = answers.flatMap((a) => ('cause' in a ? [a.cause] : []))[0] ?? cause;
      else await rememberCoverage(platform, { ecosystem, covered: outcome });
    }
  }
  return { of: (ecosystem) => covered.get(ecosystem) ?? null, cause };
}

function coverageOf(answers: readonly SubjectAnswer[]): boolean | null {
  if (answers.some((answer) => 'ids' in answer && answer.ids.length > 0)) return true;
  const isAnswered = answers.every((answer) => answer.kind === 'hits' || answer.kind === 'refused');
  return isAnswered ? false : null;
}

async function rememberCoverage(
  platform: Platform,
  { ecosystem, covered }: { ecosystem: string; covered: boolean },
): Promise<void> {
  const row = { ecosystem, covered, nowMs: platform.now() };
  await platform.database.transact((tx) => saveCoverage(tx, row));
}
