import { CompiledQuery, type Selectable, sql } from 'kysely';
import { Type } from 'typebox';
import { nameKeys } from '../installed/identity.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, HotRow, HotSql, Tx } from '../platform/db/engine.ts';
import { text, textOrNull } from '../platform/db/hot-sql.ts';
import type { Tables } from '../platform/db/tables.ts';
import { parseAs } from '../platform/parse-as.ts';
import type { InstalledPackage } from './installed-package.ts';
import { distinctSubjects, type Subject, subjectKey } from './subjects.ts';

/** A vulnerability database's answer about one subject, and its time. */
export interface Check {
  readonly subject: Subject;
  readonly verdict: 'clear' | 'vulnerable' | 'unchecked';
  /** Set when the verdict is `unchecked`, and on `vulnerable` when the list of ids is incomplete. */
  readonly reason: 'unreachable' | 'uncovered' | 'undecidable' | null;
  readonly ids: readonly string[];
  readonly checkedAtMs: number;
  readonly source: string;
  readonly snapshot: string | null;
}

/** A statement with more rows is no faster, and building it takes more memory. */
const INSERT_ROWS = 50;

/** The newest check of each subject that has one, by `subjectKey`. */
export async function readChecks(db: Db, subjects: readonly Subject[]): Promise<Map<string, Check>> {
  const checks = new Map<string, Check>();
  for (const some of chunks(distinctSubjects(subjects))) {
    const keys = some.map(({ ecosystem, name, version }) => [ecosystem, name, version]);
    for (const row of await db.run(CHECKS_OF, [JSON.stringify(keys)])) {
      const check = checkOf(checkRow(row));
      checks.set(subjectKey(check.subject), check);
    }
  }
  return checks;
}

const CHECK_COLUMNS =
  'c.ecosystem, c.name, c.version, c.verdict, c.reason, c.advisory_ids, c.checked_at, c.source, c.snapshot';
const IS_ASKED = 'c.ecosystem = k.value ->> 0 AND c.name = k.value ->> 1 AND c.version = k.value ->> 2';
/** Each is looked up by its key: of a package there may be checks of very many other versions, each with thousands of ids. */
const CHECKS_OF: HotSql = {
  name: 'checks_of',
  sqlite: `SELECT ${CHECK_COLUMNS} FROM json_each(?) AS k CROSS JOIN advisory_checks AS c WHERE ${IS_ASKED}`,
  postgres: `SELECT s.* FROM json_array_elements($1::json) AS k (value)
    CROSS JOIN LATERAL (SELECT ${CHECK_COLUMNS} FROM advisory_checks AS c WHERE ${IS_ASKED} LIMIT 1) AS s`,
};

const VERDICTS = ['clear', 'vulnerable', 'unchecked'] as const;

type CheckRow = Omit<Selectable<Tables['advisory_checks']>, 'unused_since'>;

/** The columns in the order of CHECKS_OF. */
function checkRow(row: HotRow): CheckRow {
  const verdict = VERDICTS.find((one) => one === row[3]);
  if (verdict === undefined) throw new Error('a check in the database has no verdict');
  return {
    ...{ ecosystem: text(row[0]), name: text(row[1]), version: text(row[2]), verdict },
    ...{ reason: textOrNull(row[4]), advisory_ids: text(row[5]), checked_at: Number(row[6]) },
    ...{ source: text(row[7]), snapshot: textOrNull(row[8]) },
  };
}

const Ids = Type.Array(Type.String());

function checkOf(row: CheckRow): Check {
  const { ecosystem, name, version, verdict, reason } = row;
  const ids = parseAs(Ids, row.advisory_ids);
  if (ids === null || !isReason(reason)) throw new Error(`the check of ${name} in the database is not valid`);
  return {
    subject: { ecosystem, name, version },
    verdict,
    reason,
    ids,
    checkedAtMs: row.checked_at,
    source: row.source,
    snapshot: row.snapshot,
  };
}

function isReason(text: string | null): text is Check['reason'] {
  return text === null || text === 'unreachable' || text === 'uncovered' || text === 'undecidable';
}

/**
 * Which stored checks stay: `nothing`; `newer` ones, to which an older answer only adds; or newer `findings`, since data
 * older than a vulnerability cannot know of it.
 */
type Keeps = 'nothing' | 'newer' | 'findings';

export async function saveChecks(
  tx: Tx,
  checks: readonly Check[],
  { keeps, nowMs }: { keeps: Keeps; nowMs: number },
): Promise<void> {
  const keyed = checks.map((check) => ({ key: subjectKey(check.subject), check }));
  // Same order for every writer, so that two replicas do not deadlock.
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const some of chunks(keyed, INSERT_ROWS)) {
    const upsert = upsertOf(tx, { rows: some.length, keeps });
    const parameters = some.flatMap(({ check }) => Object.values(rowOf(check)));
    await tx.executeQuery(
      CompiledQuery.raw(upsert, keeps === 'findings' ? [...parameters, nowMs] : parameters),
    );
  }
}

/** Members are in the order of an upsert's parameters. */
function rowOf({ subject, verdict, reason, ids, checkedAtMs, source, snapshot }: Check) {
  return {
    ecosystem: subject.ecosystem,
    name: subject.name,
    version: subject.version,
    verdict,
    reason,
    advisory_ids: JSON.stringify(ids),
    checked_at: checkedAtMs,
    source,
    snapshot,
  };
}

interface UpsertOf {
  readonly rows: number;
  readonly keeps: Keeps;
}

/** SQL texts by form, per database: building one costs more than running it. */
const upserts = new WeakMap<object, Map<string, string>>();

function upsertOf(tx: Tx, of: UpsertOf): string {
  const { adapter } = tx.getExecutor();
  const built = upserts.get(adapter) ?? new Map<string, string>();
  upserts.set(adapter, built);
  const key = `${of.rows} ${of.keeps}`;
  const upsert = built.get(key) ?? buildUpsert(tx, of);
  built.set(key, upsert);
  return upsert;
}

/** Placeholder for the time of the store, which is the last parameter. */
const ANY_TIME_MS = 0;
const ANY_CHECK: Check = {
  subject: { ecosystem: '', name: '', version: '' },
  ...{ verdict: 'clear', reason: null, ids: [], checkedAtMs: 0, source: '', snapshot: '' },
};

function buildUpsert(tx: Tx, { rows, keeps }: UpsertOf): string {
  return tx
    .insertInto('advisory_checks')
    .values(Array.from({ length: rows }, () => rowOf(ANY_CHECK)))
    .onConflict((conflict) => {
      const replaced = conflict.columns(['ecosystem', 'name', 'version']).doUpdateSet((e) => ({
        verdict: e.ref('excluded.verdict'),
        reason: e.ref('excluded.reason'),
        advisory_ids: e.ref('excluded.advisory_ids'),
        checked_at: e.ref('excluded.checked_at'),
        source: e.ref('excluded.source'),
        snapshot: e.ref('excluded.snapshot'),
        unused_since: sql.lit(null),
      }));
      if (keeps === 'nothing') return replaced;
      if (keeps === 'newer')
        return replaced.whereRef('advisory_checks.checked_at', '<=', 'excluded.checked_at');
      return replaced.where((e) =>
        e.or([
          e('advisory_checks.verdict', '<>', sql.lit('vulnerable')),
          e('advisory_checks.checked_at', '<=', e.ref('excluded.checked_at')),
          // Dated in the future by a clock that was set back since: ignore it.
          e('advisory_checks.checked_at', '>', ANY_TIME_MS),
        ]),
      );
    })
    .compile().sql;
}

export type AdvisoryRow = Tables['advisories'];

/** Records by id, as the source sent them. */
export async function readAdvisories(db: Db, ids: readonly string[]): Promise<Map<string, AdvisoryRow>> {
  const found = new Map<string, AdvisoryRow>();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db.selectFrom('advisories').selectAll().where('id', 'in', some).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/** Differs after each change of a stored record. */
export function recordMark({ modified, fetched_at }: { modified: string; fetched_at: number }): string {
  return `${modified} ${fetched_at}`;
}

/** `recordMark` of each stored record, read without its text. */
export async function readRecordMarks(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db
      .selectFrom('advisories')
      .select(['id', 'modified', 'fetched_at'])
      .where('id', 'in', some)
      .execute();
    for (const row of rows) found.set(row.id, recordMark(row));
  }
  return found;
}

/** The `modified` of each stored record, without its text. */
export async function readAdvisoryTimes(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db
      .selectFrom('advisories')
      .select(['id', 'modified'])
      .where('id', 'in', some)
      .execute();
    for (const row of rows) found.set(row.id, row.modified);
  }
  return found;
}

export async function saveAdvisories(tx: Tx, rows: readonly AdvisoryRow[]): Promise<void> {
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (const some of chunks(sorted, INSERT_ROWS)) {
    await tx
      .insertInto('advisories')
      .values(some)
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((e) => ({
          modified: e.ref('excluded.modified'),
          record: e.ref('excluded.record'),
          fetched_at: e.ref('excluded.fetched_at'),
        })),
      )
      .execute();
  }
}

export async function readCoverage(db: Db): Promise<Map<string, { covered: boolean; checkedAtMs: number }>> {
  const rows = await db.selectFrom('advisory_coverage').selectAll().execute();
  return new Map(
    rows.map((row) => [row.ecosystem, { covered: row.covered === 1, checkedAtMs: row.checked_at }]),
  );
}

export async function saveCoverage(
  tx: Tx,
  { ecosystem, covered, nowMs }: { ecosystem: string; covered: boolean; nowMs: number },
): Promise<void> {
  const row = { covered: covered ? 1 : 0, checked_at: nowMs };
  await tx
    .insertInto('advisory_coverage')
    .values({ ecosystem, ...row })
    .onConflict((conflict) => conflict.column('ecosystem').doUpdateSet(row))
    .execute();
}

/**
 * The installed versions of packages with these names: for comparison, and to detect versions new to a host. The only
 * access of this slice to a table of the inventory.
 */
export async function readInstalled(
  db: Db,
  { agentId, ecosystem, names }: { agentId: string; ecosystem: string; names: readonly string[] },
): Promise<InstalledPackage[]> {
  const found: InstalledPackage[] = [];
  for (const some of chunks([...new Set(names)])) {
    const rows = await db
      .selectFrom('host_packages')
      .select(['name', 'arch', 'version', 'source_name', 'source_version', 'origin'])
      .where('agent_id', '=', agentId)
      .where('name_key', 'in', nameKeys(ecosystem, some))
      .where('ecosystem', '=', ecosystem)
      .where('name', 'in', some)
      .execute();
    for (const { source_name: sourceName, source_version: sourceVersion, ...row } of rows) {
      found.push({ ...row, sourceName, sourceVersion });
    }
  }
  return found;
}

/** Undecided updates with a known plan, by id; the only access to a table of the updates. */
export async function readOpenUpdates(
  db: Db,
  args: { after: string; limit: number; onlyUnjudged: boolean },
): Promise<Selectable<Tables['updates']>[]> {
  let query = db
    .selectFrom('updates')
    .selectAll()
    .where('state', 'in', ['pending', 'awaiting_plan'])
    .where('plan_id', 'is not', null)
    .where('id', '>', args.after);
  if (args.onlyUnjudged) query = query.where('verdict', 'is', null);
  return query.orderBy('id').limit(args.limit).execute();
}
