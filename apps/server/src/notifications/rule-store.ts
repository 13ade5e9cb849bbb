import { QuietHours, RuleConditions, RuleMode } from '@tidegate/protocol/notifications-api';
import type { Selectable } from 'kysely';
import { Value } from 'typebox/value';
import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type RuleRow = Selectable<Tables['notification_rules']>;
export type EscalationRow = Selectable<Tables['notification_escalations']>;

/** A rule as it is carried out. */
export interface Rule extends Omit<RuleRow, 'conditions' | 'quiet_hours' | 'mode'> {
  readonly conditions: RuleConditions;
  readonly quietHours: QuietHours | null;
  readonly mode: RuleMode;
}
export type RuleOf<Kind extends RuleMode['kind']> = Rule & {
  readonly mode: Extract<RuleMode, { kind: Kind }>;
};

export function isOfMode<Kind extends RuleMode['kind']>(rule: Rule, kind: Kind): rule is RuleOf<Kind> {
  return rule.mode.kind === kind;
}

export function ruleOf({ conditions, quiet_hours: quiet, mode, ...row }: RuleRow): Rule {
  return {
    ...row,
    conditions: Value.Parse(RuleConditions, JSON.parse(conditions)),
    quietHours: quiet === null ? null : Value.Parse(QuietHours, JSON.parse(quiet)),
    mode: Value.Parse(RuleMode, JSON.parse(mode)),
  };
}

export async function insertRule(tx: Tx, row: RuleRow): Promise<void> {
  await tx.insertInto('notification_rules').values(row).execute();
}

export async function updateRule(
  tx: Tx,
  id: string,
  change: Omit<RuleRow, 'id' | 'created_by' | 'created_at'>,
): Promise<void> {
  await tx.updateTable('notification_rules').set(change).where('id', '=', id).execute();
}

export async function deleteRule(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('notification_escalations').where('rule_id', '=', id).execute();
  await tx.deleteFrom('notification_rules').where('id', '=', id).execute();
}

export async function findRule(db: Db, id: string): Promise<RuleRow | null> {
  return (
    (await db.selectFrom('notification_rules').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
  );
}

export async function listRules(db: Db): Promise<RuleRow[]> {
  return db.selectFrom('notification_rules').selectAll().orderBy('name').execute();
}

export async function ruleNamed(db: Db, of: { name: string; but: string | null }): Promise<boolean> {
  let query = db.selectFrom('notification_rules').select('id').where('name', '=', of.name);
  if (of.but !== null) query = query.where('id', '!=', of.but);
  return (await query.executeTakeFirst()) !== undefined;
}

export async function ruleUsing(db: Db, channelId: string): Promise<string | null> {
  const row = await db
    .selectFrom('notification_rules')
    .select('name')
    .where('channel_id', '=', channelId)
    .orderBy('name')
    .limit(1)
    .executeTakeFirst();
  return row?.name ?? null;
}

/** Those that are carried out now: they and their channels are switched on. */
export async function activeRules(db: Db): Promise<Rule[]> {
  const rows = await db
    .selectFrom('notification_rules as r')
    .innerJoin('notification_channels as c', 'c.id', 'r.channel_id')
    .selectAll('r')
    .where('r.is_enabled', '=', 1)
    .where('c.is_enabled', '=', 1)
    .orderBy('r.id')
    .execute();
  return rows.map(ruleOf);
}

/**
 * Moves a rule on in the log, and to its next digest; false if another server did, or the rule changed. The caller
 * writes what the rule sends in the same transaction, so that it is neither lost nor written twice.
 */
export async function moveRule(
  tx: Tx,
  rule: Pick<Rule, 'id' | 'position' | 'next_digest_at' | 'updated_at'>,
  to: { position: number; nextDigestAt?: number | null },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('notification_rules')
    .set({ position: to.position, next_digest_at: to.nextDigestAt ?? rule.next_digest_at })
    .where('id', '=', rule.id)
    .where('position', '=', rule.position)
    .where('updated_at', '=', rule.updated_at)
    .where('is_enabled', '=', 1)
    .where(({ eb }) =>
      rule.next_digest_at === null
        ? eb('next_digest_at', 'is', null)
        : eb('next_digest_at', '=', rule.next_digest_at),
    )
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Has the rules of a channel begin at this place of the log: what was before is not sent. */
export async function moveRulesOfChannel(
  tx: Tx,
  { channelId, position }: { channelId: string; position: number },
): Promise<void> {
  await tx.updateTable('notification_rules').set({ position }).where('channel_id', '=', channelId).execute();
}

export async function escalationsOf(db: Db, ruleId: string): Promise<EscalationRow[]> {
  return db.selectFrom('notification_escalations').selectAll().where('rule_id', '=', ruleId).execute();
}

/** Waits for other servers that escalate by the same rule. False: it was removed or switched off. */
export async function lockRule(tx: Tx, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('notification_rules')
    .set((e) => ({ position: e.ref('position') }))
    .where('id', '=', id)
    .where('is_enabled', '=', 1)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Replaces what a rule has escalated. */
export async function putEscalations(
  tx: Tx,
  { ruleId, rows }: { ruleId: string; rows: readonly EscalationRow[] },
): Promise<void> {
  await tx.deleteFrom('notification_escalations').where('rule_id', '=', ruleId).execute();
  for (const some of chunks(rows)) await tx.insertInto('notification_escalations').values(some).execute();
}
