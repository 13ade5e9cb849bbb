import type { PolicyEnd } from '@tidegate/protocol/policies-api';
import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { listOpened, type Opened, opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';
import type { Tables } from '../platform/db/tables.ts';
import { latestEndOf, type Wait } from '../platform/due.ts';
import { runSlotOf } from './run-slots.ts';

export type PolicyRow = Opened<'policies'>;
/** A version of any state; an ended one has no seal. */
export type AnyPolicyRow = Unsealed<'policies'>;
export type RunRow = Tables['policy_runs'];

export async function insertPolicy(tx: Tx, row: AnyPolicyRow): Promise<void> {
  await tx
    .insertInto('policies')
    .values(sealed(tx, 'policies', row))
    .execute();
}

/** Ends the version in force of a policy, also one with a broken seal; null when there is none. */
export async function endPolicy(
  tx: Tx,
  end: { policyId: string; by: string; reason: PolicyEnd; nowMs: number },
): Promise<AnyPolicyRow | null> {
  const { policyId, by, reason, nowMs } = end;
  const row = await tx
    .updateTable('policies')
    .set({ ended_at: nowMs, end_reason: reason, ended_by: by, seal: null })
    .where('policy_id', '=', policyId)
    .where('ended_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

/** Versions past their end whose end is not recorded yet, by policy. */
export async function expiredPolicies(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('policies')
    .select('policy_id')
    .where('ended_at', 'is', null)
    .where('ends_at', '<=', nowMs)
    .orderBy('ends_at')
    .limit(limit)
    .execute();
  return rows.map(({ policy_id: id }) => id);
}

/** Policies that this operator wrote and whose end is not recorded, by id. */
export async function policiesOfAuthor(db: Db, authorId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('policies')
    .select('policy_id')
    .where('author_id', '=', authorId)
    .where('ended_at', 'is', null)
    .orderBy('policy_id')
    .execute();
  return rows.map(({ policy_id: id }) => id);
}

/** Every version of a policy, the newest first; the one in force only if its seal holds. */
export async function versionsOf(db: Db, policyId: string): Promise<AnyPolicyRow[]> {
  const rows = await db
    .selectFrom('policies')
    .selectAll()
    .where('policy_id', '=', policyId)
    .orderBy('version', 'desc')
    .execute();
  return rows.flatMap((row) => (row.ended_at === null ? (opened(db, 'policies', row) ?? []) : row));
}

/** The newest version of each policy by name, also of ended ones; `after` is the last id of the previous page. */
export async function listPolicies(
  db: Db,
  { limit, after }: { limit: number; after: string | null },
): Promise<AnyPolicyRow[]> {
  let query = db
    .selectFrom('policies as p')
    .selectAll('p')
    .where(({ eb, selectFrom }) =>
      eb(
        'p.version',
        '=',
        selectFrom('policies as q')
          .select((e) => e.fn.max('q.version').as('newest'))
          .whereRef('q.policy_id', '=', 'p.policy_id'),
      ),
    );
  if (after !== null) query = query.where('p.policy_id', '<', after);
  const rows = await query.orderBy('p.policy_id', 'desc').limit(limit).execute();
  return rows.flatMap((row) => (row.ended_at === null ? (opened(db, 'policies', row) ?? []) : row));
}

export async function countPolicies(db: Db): Promise<number> {
  const row = await db
    .selectFrom('policies')
    .select((e) => e.fn.count<number>('policy_id').distinct().as('total'))
    .executeTakeFirstOrThrow();
  return Number(row.total);
}

/** All that are in force, by id; at most `limit`. */
export async function policiesInForce(
  db: Db,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<PolicyRow[]> {
  return listOpened(db, 'policies', {
    ...{ limit, after: null, keyOf: ({ policy_id: id }) => id },
    page(last) {
      const query = db
        .selectFrom('policies')
        .selectAll()
        .where('ended_at', 'is', null)
        .where('ends_at', '>', nowMs);
      const page = last === null ? query : query.where('policy_id', '>', last);
      return page.orderBy('policy_id').limit(limit).execute();
    },
  });
}

/** Those of these versions that are in force, by digest. */
export async function versionsInForce(
  db: Db,
  { digests, nowMs }: { digests: readonly string[]; nowMs: number },
): Promise<Map<string, PolicyRow>> {
  const found = new Map<string, PolicyRow>();
  for (const some of chunks([...new Set(digests)])) {
    const rows = await db
      .selectFrom('policies')
      .selectAll()
      .where('sha256', 'in', some)
      .where('ended_at', 'is', null)
      .where('ends_at', '>', nowMs)
      .execute();
    for (const row of rows) {
      const sound = opened(db, 'policies', row);
      if (sound) found.set(row.sha256, sound);
    }
  }
  return found;
}

/** Versions of policies by digest, also ended ones; those in force only if their seals hold. */
export async function versionsByDigest(
  db: Db,
  digests: readonly string[],
): Promise<Map<string, AnyPolicyRow>> {
  const found = new Map<string, AnyPolicyRow>();
  for (const some of chunks([...new Set(digests)])) {
    const rows = await db.selectFrom('policies').selectAll().where('sha256', 'in', some).execute();
    for (const row of rows) {
      const sound = row.ended_at === null ? opened(db, 'policies', row) : row;
      if (sound) found.set(row.sha256, sound);
    }
  }
  return found;
}

export async function runsOf(db: Db, policyIds: readonly string[]): Promise<Map<string, RunRow>> {
  const found = new Map<string, RunRow>();
  for (const some of chunks(policyIds)) {
    const rows = await db.selectFrom('policy_runs').selectAll().where('policy_id', 'in', some).execute();
    for (const row of rows) found.set(row.policy_id, row);
  }
  return found;
}

export async function recordRun(tx: Tx, row: RunRow): Promise<void> {
  const { policy_id: _, ...values } = row;
  await tx
    .insertInto('policy_runs')
    .values(row)
    .onConflict((conflict) => conflict.column('policy_id').doUpdateSet(values))
    .execute();
  const approved = row.approved + row.awaiting_plan;
  if (approved === 0) return;
  await tx
    .insertInto('policy_run_slots')
    .values({ slot: runSlotOf(row.at), policy_id: row.policy_id, approved })
    .onConflict((conflict) =>
      conflict
        .columns(['slot', 'policy_id'])
        .doUpdateSet((e) => ({ approved: e('policy_run_slots.approved', '+', approved) })),
    )
    .execute();
}

/** What policies approved in the quarters of an hour from `fromSlot` to before `toSlot`. */
export async function approvedIn(
  db: Db,
  { fromSlot, toSlot }: { fromSlot: number; toSlot: number },
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('policy_run_slots')
    .select((e) => ['policy_id', e.fn.sum<number>('approved').as('approved')])
    .where('slot', '>=', fromSlot)
    .where('slot', '<', toSlot)
    .groupBy('policy_id')
    .execute();
  return new Map(rows.map(({ policy_id: id, approved }) => [id, Number(approved)]));
}

export async function dropSlotsBefore(tx: Tx, slot: number): Promise<void> {
  await tx.deleteFrom('policy_run_slots').where('slot', '<', slot).execute();
}

/** The names of policies in their newest versions, by id. */
export async function namesOf(db: Db, policyIds: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const some of chunks(policyIds)) {
    const rows = await db
      .selectFrom('policies')
      .select(['policy_id', 'name'])
      .where('policy_id', 'in', some)
      .orderBy('version')
      .execute();
    for (const row of rows) found.set(row.policy_id, row.name);
  }
  return found;
}

/** Versions that were in force in this time, those that still are first; those only if their seals hold. */
export async function versionsIn(
  db: Db,
  { fromMs, toMs, limit }: { fromMs: number; toMs: number; limit: number },
): Promise<AnyPolicyRow[]> {
  const rows = await db
    .selectFrom('policies')
    .selectAll()
    .where('created_at', '<', toMs)
    .where('ends_at', '>=', fromMs)
    .where(({ eb, or }) => or([eb('ended_at', 'is', null), eb('ended_at', '>=', fromMs)]))
    .orderBy(sql`CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END`)
    .orderBy('created_at', 'desc')
    .orderBy('sha256')
    .limit(limit)
    .execute();
  return rows.flatMap((row) => (row.ended_at === null ? (opened(db, 'policies', row) ?? []) : row));
}

/** The start of the opening that each of these policies has announced last, by policy; without an entry, none. */
export async function announcedOpenings(db: Db, policyIds: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const some of chunks(policyIds)) {
    const rows = await db.selectFrom('policy_openings').selectAll().where('policy_id', 'in', some).execute();
    for (const { policy_id: id, opens_at: opensAtMs } of rows) found.set(id, opensAtMs);
  }
  return found;
}

/** False: this opening, or a later one, has been announced already; one that is further away than any is not. */
export async function markAnnounced(
  tx: Tx,
  { policyId, opensAtMs, ...wait }: Wait & { policyId: string; opensAtMs: number },
): Promise<boolean> {
  const latestMs = latestEndOf(wait);
  const { numInsertedOrUpdatedRows: rows = 0n } = await tx
    .insertInto('policy_openings')
    .values({ policy_id: policyId, opens_at: opensAtMs })
    .onConflict((conflict) =>
      conflict
        .column('policy_id')
        .doUpdateSet({ opens_at: opensAtMs })
        .where(({ eb, or }) =>
          or([eb('policy_openings.opens_at', '<', opensAtMs), eb('policy_openings.opens_at', '>', latestMs)]),
        ),
    )
    .executeTakeFirstOrThrow();
  return rows > 0n;
}
