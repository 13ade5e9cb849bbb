import { Ecosystem, PackageVersion } from '@tidegate/protocol/scalars';
import { VexScope } from '@tidegate/protocol/vex-api';
import { canonicalName } from '@tidegate/versions/names';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { listOpened, type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';
import type { StatementFact } from './statement-rules.ts';

export type StatementRow = Opened<'vex_statements'>;
/** A row of any state; an ended one has no seal. */
export type AnyStatementRow = Unsealed<'vex_statements'>;

export async function insertStatements(tx: Tx, rows: readonly AnyStatementRow[]): Promise<void> {
  const values = rows.map((row) => sealed(tx, 'vex_statements', row));
  for (const some of chunks(values)) await tx.insertInto('vex_statements').values(some).execute();
}

/** Ends a statement, also one with a broken seal; null when there is none, or it has ended. */
export async function endStatement(
  tx: Tx,
  { id, by, reason, nowMs }: { id: string; by: string; reason: 'revoked' | 'expired'; nowMs: number },
): Promise<AnyStatementRow | null> {
  const row = await tx
    .updateTable('vex_statements')
    .set({ ended_at: nowMs, end_reason: reason, ended_by: by, seal: null })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Statements past their end whose end is not recorded yet, by id. */
export async function expiredStatements(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('vex_statements')
    .select('id')
    .where('ended_at', 'is', null)
    .where('ends_at', '<=', nowMs)
    .orderBy('ends_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Null also where the seal of one in force is broken. */
export async function findStatement(db: Db, id: string): Promise<AnyStatementRow | null> {
  const row = await db.selectFrom('vex_statements').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row) return null;
  return row.ended_at === null ? opened(db, 'vex_statements', row) : row;
}

/** Newest first, also ended ones; `before` is the last id of the previous page. */
export async function listStatements(
  db: Db,
  { limit, before }: { limit: number; before: string | null },
): Promise<AnyStatementRow[]> {
  let query = db.selectFrom('vex_statements').selectAll();
  if (before !== null) query = query.where('id', '<', before);
  const rows = await query.orderBy('id', 'desc').limit(limit).execute();
  return rows.flatMap((row) => (row.ended_at === null ? (opened(db, 'vex_statements', row) ?? []) : row));
}

export async function countStatements(db: Db): Promise<number> {
  const row = await db
    .selectFrom('vex_statements')
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** All that are in force, oldest first; at most `limit`. */
export async function statementsInForce(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<StatementRow[]> {
  return pageInForce(db, { nowMs, limit, after: null });
}

async function pageInForce(
  db: Db,
  { nowMs, after, limit }: { nowMs: number; after: string | null; limit: number },
): Promise<StatementRow[]> {
  return listOpened(db, 'vex_statements', {
    ...{ limit, after, keyOf: ({ id }) => id },
    page(last) {
      const query = db
        .selectFrom('vex_statements')
        .selectAll()
        .where('ended_at', 'is', null)
        .where('ends_at', '>', nowMs);
      const page = last === null ? query : query.where('id', '>', last);
      return page.orderBy('id').limit(limit).execute();
    },
  });
}

/** Statements of one page: each is opened, which takes longer than reading it. */
const PAGE_STATEMENTS = 200;

/** A page of them, by id. */
export async function statementsInForceAfter(
  db: Db,
  { nowMs, after }: { nowMs: number; after: string | null },
): Promise<StatementRow[]> {
  return pageInForce(db, { nowMs, after, limit: PAGE_STATEMENTS });
}

/** The statements in force about these packages. */
export async function statementsAbout(
  db: Db,
  { packages, nowMs }: { packages: readonly { ecosystem: Ecosystem; name: string }[]; nowMs: number },
): Promise<StatementFact[]> {
  const names = Map.groupBy(packages, ({ ecosystem }) => ecosystem);
  const found: StatementFact[] = [];
  for (const [ecosystem, some] of names) {
    const distinct = new Set(some.map(({ name }) => canonicalName(ecosystem, name)));
    for (const part of chunks([...distinct])) {
      const rows = await db
        .selectFrom('vex_statements')
        .selectAll()
        .where('ecosystem', '=', ecosystem)
        .where('name', 'in', part)
        .where('ended_at', 'is', null)
        .where('ends_at', '>', nowMs)
        .execute();
      found.push(...rows.flatMap((row) => opened(db, 'vex_statements', row) ?? []).map(factOf));
    }
  }
  return found;
}

/** Which of these statements are still in force. */
export async function idsInForce(
  db: Db,
  { ids, nowMs }: { ids: readonly string[]; nowMs: number },
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const some of chunks([...new Set(ids)])) {
    const rows = await db
      .selectFrom('vex_statements')
      .selectAll()
      .where('id', 'in', some)
      .where('ended_at', 'is', null)
      .where('ends_at', '>', nowMs)
      .execute();
    for (const row of rows) if (opened(db, 'vex_statements', row)) found.add(row.id);
  }
  return found;
}

const Status = Type.Enum(['not_affected', 'accepted']);
const Versions = Type.Array(PackageVersion);

export function factOf(row: StatementRow): StatementFact {
  return {
    id: row.id,
    sha256: row.sha256,
    status: Value.Parse(Status, row.status),
    vulnerability: row.vulnerability,
    ecosystem: Value.Parse(Ecosystem, row.ecosystem),
    package: row.name,
    distribution: row.distribution,
    versions: Value.Parse(Versions, JSON.parse(row.versions)),
    scope: Value.Parse(VexScope, JSON.parse(row.scope)),
    endsAtMs: row.ends_at,
    endedAtMs: row.ended_at,
  };
}
