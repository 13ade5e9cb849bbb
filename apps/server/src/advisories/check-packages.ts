import type { Platform } from '../platform/platform.ts';
import { fetchRecords } from './fetch-records.ts';
import { baseOf, snapshotId } from './mirror/snapshot.ts';
import { lockSnapshot } from './mirror/store.ts';
import { BATCH_MAX_QUERIES, type OsvClient, type SubjectAnswer, type VulnerabilityId } from './osv-client.ts';
import { type Check, readCoverage, saveChecks, saveCoverage } from './store.ts';
import { distinctSubjects, type Subject, subjectKey } from './subjects.ts';

/** How long it is believed that a database covers an ecosystem, or does not, in milliseconds. */
export const COVERAGE_MAX_AGE_MS = 24 * 60 * 60 * 1_000;
/** Packages that every distribution has many records of: at version 0 one of them must have hits. */
const SENTINELS = ['openssl', 'linux', 'kernel'];
/** Registries of whose coverage nobody has doubts. */
const ALWAYS_COVERED: ReadonlySet<string> = new Set(['npm', 'PyPI']);
/** Records that are fetched before a round ends; what is left over comes later and is display only. */
export const RECORDS_BEFORE_VERDICT = 200;

export interface CheckLimits {
  /** Longest time for one call, in milliseconds; the client's own unless given. */
  readonly timeoutMs?: number;
  /**
   * The snapshots of the mirror when the question arose (null: none): where another one is in use by the time of the
   * answer, what the mirror has learnt since must not be replaced by it.
   */
  readonly snapshots?: ReadonlyMap<string, string | null>;
}

export interface CheckOutcome {
  /** Keys of the subjects about which the source could not be asked. */
  readonly failed: ReadonlySet<string>;
  /** Why, for the log; null where nothing failed. */
  readonly cause: string | null;
  /** Records that are still to be fetched. */
  readonly missingRecords: readonly VulnerabilityId[];
}

/**
 * Asks the source about distinct subjects (at most one batch) and stores what it says. What could not be asked is not
 * stored: the last answer stands until it is too old, and then the subject counts as unchecked.
 */
export async function checkPackages(
  platform: Platform,
  client: OsvClient,
  given: readonly Subject[],
  limits: CheckLimits = {},
): Promise<CheckOutcome> {
  const subjects = distinctSubjects(given).slice(0, BATCH_MAX_QUERIES);
  // Together: a source that hangs costs one wait, not two.
  const [coverage, answers] = await Promise.all([
    probeCoverage(platform, client, { subjects, limits }),
    client.query(subjects, limits),
  ]);
  const checks: Check[] = [];
  const failed = new Set<string>();
  let cause = coverage.cause;
  for (const [index, subject] of subjects.entries()) {
    const answer = answers[index];
    const check = answer && judge({ subject, answer, covered: coverage.of(subject.ecosystem) });
    if (check) checks.push({ ...check, subject, checkedAtMs: platform.now(), source: 'api', snapshot: null });
    if (!check || check.reason === 'unreachable') failed.add(subjectKey(subject));
    if (answer && 'cause' in answer) cause = answer.cause;
  }
  for (const key of await saveUnlessOvertaken(platform, checks, limits.snapshots)) failed.add(key);
  const ids = answers.flatMap((answer) => ('ids' in answer ? answer.ids : []));
  const missingRecords = await fetchRecords(platform, client, { ids, most: RECORDS_BEFORE_VERDICT });
  return { failed, cause, missingRecords };
}

/** Returns the keys of the checks that were not stored. */
async function saveUnlessOvertaken(
  platform: Platform,
  checks: readonly Check[],
  snapshots: CheckLimits['snapshots'],
): Promise<string[]> {
  const { engine } = platform.database;
  return platform.database.transact(async (tx) => {
    const overtaken = new Set<string>();
    for (const [base, before] of snapshots ?? []) {
      const now = await lockSnapshot(tx, { base, engine });
      if ((now && snapshotId(now)) !== before) overtaken.add(base);
    }
    const [late, current] = [true, false].map((isLate) =>
      checks.filter(({ subject }) => overtaken.has(baseOf(subject.ecosystem)) === isLate),
    );
    await saveChecks(tx, current ?? []);
    return (late ?? []).map(({ subject }) => subjectKey(subject));
  });
}

type Judged = Pick<Check, 'verdict' | 'reason' | 'ids'>;

/** Null where the source could not be asked. `covered` is null where not even the coverage could be asked for. */
function judge({
  answer,
  covered,
}: {
  subject: Subject;
  answer: SubjectAnswer;
  covered: boolean | null;
}): Judged | null {
  switch (answer.kind) {
    case 'hits':
      if (answer.ids.length > 0) return { verdict: 'vulnerable', reason: null, ids: idsOf(answer.ids) };
      if (covered === null) return null;
      // An empty answer about a release that the source does not know is not "clean".
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
