import { sql } from 'kysely';
import { type BrokenSeal, nameOf, SEALED_COLUMNS, type SealedTable } from './create-row-seals.ts';
import type { Db, Tx } from './engine.ts';

/** Conditions for a row that is in force: one that has ended has no seal. */
const IN_FORCE: Readonly<Partial<Record<SealedTable, string>>> = {
  operator_sessions: 'revoked_at IS NULL',
  operator_recovery_codes: 'used_at IS NULL',
  setup_links: 'used_at IS NULL',
  api_tokens: 'revoked_at IS NULL',
  registration_tokens: 'deleted_at IS NULL',
  age_exceptions: 'deleted_at IS NULL',
  vex_statements: 'ended_at IS NULL',
  origins: 'ended_at IS NULL',
  policies: 'ended_at IS NULL',
  resyncs: 'closed_at IS NULL',
  agent_commands: "status IN ('pending', 'sent')",
  rollbacks: "update_id IN (SELECT id FROM updates WHERE state IN ('pending', 'awaiting_plan'))",
  host_reboots: 'ended_at IS NULL',
  awaited_updates: "update_id IN (SELECT id FROM updates WHERE state = 'awaiting_plan')",
};
/** Tables whose key is not `id`. */
const KEYS: Readonly<Partial<Record<SealedTable, readonly string[]>>> = {
  operator_totp: ['operator_id'],
  operator_recovery_codes: ['operator_id', 'code_hash'],
  awaited_updates: ['update_id'],
  host_tags: ['agent_id', 'key'],
  rollbacks: ['update_id'],
  policies: ['sha256'],
};

type Row = Readonly<Record<string, unknown>> & { readonly seal: string | null };

/** Rows in force without a seal that holds, of every table. */
export async function findBrokenSeals(db: Db): Promise<BrokenSeal[]> {
  const broken: BrokenSeal[] = [];
  for (const table of sealedTables()) {
    for (const row of await rowsInForce(db, table)) {
      if (db.seals.holdsRow(table, row)) continue;
      broken.push({ table, row: nameOf(table, row), reason: row.seal === null ? 'missing' : 'wrong' });
    }
  }
  return broken;
}

/**
 * Seals broken rows as they are, whoever wrote them, and returns how many of each table. Nothing checks them:
 * run this only when a person asks for it.
 */
export async function sealBrokenRows(tx: Tx): Promise<Readonly<Partial<Record<SealedTable, number>>>> {
  const counts: Partial<Record<SealedTable, number>> = {};
  for (const table of sealedTables()) {
    for (const row of await rowsInForce(tx, table)) {
      if (tx.seals.holdsRow(table, row)) continue;
      await sql`UPDATE ${sql.table(table)} SET seal = ${tx.seals.sealRow(table, row)}
        WHERE ${keyOf(table, row)}`.execute(tx);
      counts[table] = (counts[table] ?? 0) + 1;
    }
  }
  return counts;
}

/** Deletes rows in force whose seal does not hold. Returns how many of each table. */
export async function removeBrokenRows(tx: Tx): Promise<Readonly<Partial<Record<SealedTable, number>>>> {
  const counts: Partial<Record<SealedTable, number>> = {};
  // Rows that refer to an operator are deleted before the operator.
  for (const table of sealedTables().toReversed()) {
    for (const row of await rowsInForce(tx, table)) {
      if (tx.seals.holdsRow(table, row)) continue;
      if (table === 'operators') await removeSessions(tx, row);
      await sql`DELETE FROM ${sql.table(table)} WHERE ${keyOf(table, row)}`.execute(tx);
      counts[table] = (counts[table] ?? 0) + 1;
    }
  }
  return counts;
}

function removeSessions(tx: Tx, { id }: Row): Promise<unknown> {
  return sql`DELETE FROM operator_sessions WHERE operator_id = ${id}`.execute(tx);
}

function keyOf(table: SealedTable, row: Row) {
  const parts = (KEYS[table] ?? ['id']).map((column) => sql`${sql.ref(column)} = ${row[column]}`);
  return sql.join(parts, sql` AND `);
}

async function rowsInForce(db: Db, table: SealedTable): Promise<readonly Row[]> {
  const inForce = sql.raw(IN_FORCE[table] ?? '1 = 1');
  return (await sql<Row>`SELECT * FROM ${sql.table(table)} WHERE ${inForce}`.execute(db)).rows;
}

function sealedTables(): SealedTable[] {
  return Object.keys(SEALED_COLUMNS).filter((name): name is SealedTable => name in SEALED_COLUMNS);
}
