import type { PolicyReference } from '@tidegate/protocol/policies-api';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { opened, sealed, type Unsealed } from '../platform/db/row-seals.ts';

/** An approval that waits for the plan of its updates. */
export interface AwaitedSet {
  /** Of the updates that were asked for together. */
  readonly setSha256: string;
  /** Those of them that still wait, in ascending order. */
  readonly updateIds: readonly string[];
  readonly askedBy: string;
  readonly askedAtMs: number;
  readonly round: number;
  /** The policy that asks in that operator's name; null: the operator does. */
  readonly policy: PolicyReference | null;
  /** The event of the bulk request by which it waits; null: of no such request. */
  readonly bulkId: string | null;
}

/**
 * The sets of updates that wait, by digest. Rows that this server did not write are reported and wait for nothing:
 * who asks with them decides in an operator's name.
 */
export async function awaitedSets(
  db: Db,
  { after, limit }: { after: string; limit: number },
): Promise<AwaitedSet[]> {
  const sets = await waiting(db)
    .select('w.set_sha256')
    .distinct()
    .where('w.set_sha256', '>', after)
    .orderBy('w.set_sha256')
    .limit(limit)
    .execute();
  const last = sets.at(-1);
  if (!last) return [];
  const rows = await waiting(db)
    .selectAll('w')
    .where(
      'w.set_sha256',
      'in',
      sets.map(({ set_sha256 }) => set_sha256),
    )
    .orderBy('w.set_sha256')
    .orderBy('w.update_id')
    .execute();
  const written = rows.flatMap((row) => opened(db, 'awaited_updates', row) ?? []);
  // An empty answer means the end, so a page of forged rows is passed over.
  if (written.length === 0) return awaitedSets(db, { after: last.set_sha256, limit });
  return [...Map.groupBy(written, ({ set_sha256 }) => set_sha256)].flatMap(
    ([setSha256, [first, ...others]]) => {
      if (!first) return [];
      const updateIds = [first, ...others].map(({ update_id }) => update_id);
      const asked = { askedBy: first.asked_by, askedAtMs: first.asked_at, round: first.round };
      return [{ setSha256, updateIds, ...asked, policy: policyOfRow(first), bulkId: first.bulk_id }];
    },
  );
}

/** The digest of the set with which each of these updates waits. */
export async function awaitedSetsOf(db: Db, updateIds: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const some of chunks(updateIds)) {
    const rows = await waiting(db).selectAll('w').where('w.update_id', 'in', some).execute();
    for (const row of rows.flatMap((it) => opened(db, 'awaited_updates', it) ?? []))
      found.set(row.update_id, row.set_sha256);
  }
  return found;
}

function policyOfRow({
  policy_id: id,
  policy_sha256: sha256,
}: Pick<Unsealed<'awaited_updates'>, 'policy_id' | 'policy_sha256'>): PolicyReference | null {
  return id === null || sha256 === null ? null : { policy_id: id, sha256 };
}

/** Who waits is said by the state of the update alone. */
function waiting(db: Db) {
  return db
    .selectFrom('awaited_updates as w')
    .innerJoin('updates as u', 'u.id', 'w.update_id')
    .where('u.state', '=', 'awaiting_plan');
}

export async function putAwaited(tx: Tx, rows: readonly Unsealed<'awaited_updates'>[]): Promise<void> {
  for (const some of chunks(rows.map((row) => sealed(tx, 'awaited_updates', row)))) {
    await tx
      .insertInto('awaited_updates')
      .values(some)
      .onConflict((conflict) =>
        conflict.column('update_id').doUpdateSet((e) => ({
          set_sha256: e.ref('excluded.set_sha256'),
          asked_by: e.ref('excluded.asked_by'),
          asked_at: e.ref('excluded.asked_at'),
          round: e.ref('excluded.round'),
          policy_id: e.ref('excluded.policy_id'),
          policy_sha256: e.ref('excluded.policy_sha256'),
          bulk_id: e.ref('excluded.bulk_id'),
          seal: e.ref('excluded.seal'),
        })),
      )
      .execute();
  }
}
