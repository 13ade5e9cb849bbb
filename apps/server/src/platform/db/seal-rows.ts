import { sql } from 'kysely';
import { type BrokenSeal, nameOf, SEALED_COLUMNS, type SealedTable } from './create-row-seals.ts';
import type { Db, Tx } from './engine.ts';

/** What ends the right of a row, beside its key: a row that was ended stays without a seal. */
const ENDED: Readonly<Partial<Record<SealedTable, string>>> = {
  operator_sessions: 'revoked_at IS NULL',
  operator_recovery_codes: 'used_at IS NULL',
  setup_links: 'used_at IS NULL',
  api_tokens: 'revoked_at IS NULL',
  registration_tokens: 'deleted_at IS NULL',
  age_exceptions: 'deleted_at IS NULL',
  resyncs: 'closed_at IS NULL',
  agent_commands: "status IN ('pending', 'sent')",
};
/** Where it is not the column `id`. */
const KEYS: Readonly<Partial<Record<SealedTable, readonly string[]>>> = {
  operator_totp: ['operator_id'],
  operator_recovery_codes: ['operator_id', 'code_hash'],
};

type Row = Readonly<Record<string, unknown>> & { readonly seal: string | null };

/** Rows that stand and bear no seal of this server, of every table. */
export async function findBrokenSeals(db: Db): Promise<BrokenSeal[]> {
  const broken: BrokenSeal[] = [];
  for (const table of sealedTables()) {
    for (const row of await standingRows(db, table)) {
      if (db.seals.holdsRow(table, row)) continue;
      broken.push({ table, row: nameOf(table, row), reason: row.seal === null ? 'missing' : 'wrong' });
    }
  }
  return broken;
}

/**
 * Seals the rows that bear no seal of this server as they are, whoever wrote them. Returns how many of each table.
 * Nothing checks them: only a human may ask for it.
 */
export async function sealBrokenRows(tx: Tx): Promise<Readonly<Partial<Record<SealedTable, number>>>> {
  const counts: Partial<Record<SealedTable, number>> = {};
  for (const table of sealedTables()) {
    for (const row of await standingRows(tx, table)) {
      if (tx.seals.holdsRow(table, row)) continue;
      await sql`UPDATE ${sql.table(table)} SET seal = ${tx.seals.sealRow(table, row)}
        WHERE ${keyOf(table, row)}`.execute(tx);
      counts[table] = (counts[table] ?? 0) + 1;
    }
  }
  return counts;
}

/** Deletes the rows that stand and bear no seal of this server. Returns how many of each table. */
export async function removeBrokenRows(tx: Tx): Promise<Readonly<Partial<Record<SealedTable, number>>>> {
  const counts: Partial<Record<SealedTable, number>> = {};
  // What refers to an operator goes before the operator.
  for (const table of sealedTables().toReversed()) {
    for (const row of await standingRows(tx, table)) {
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

async function standingRows(db: Db, table: SealedTable): Promise<readonly Row[]> {
  const standing = sql.raw(ENDED[table] ?? '1 = 1');
  return (await sql<Row>`SELECT * FROM ${sql.table(table)} WHERE ${standing}`.execute(db)).rows;
}

function sealedTables(): SealedTable[] {
  return Object.keys(SEALED_COLUMNS).filter((name): name is SealedTable => name in SEALED_COLUMNS);
}
