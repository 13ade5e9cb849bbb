import { sql } from 'kysely';
import { type Database, DatabaseFault, type Db } from './engine.ts';

/** Faults that are listed. */
const FAULTS_MAX = 20;

/**
 * Returns the faults that the database finds in its own pages, indexes and references. SQLite reads every page, which
 * takes some seconds per gigabyte and blocks no writer.
 */
export async function checkIntegrity({ engine, read }: Pick<Database, 'engine' | 'read'>): Promise<string[]> {
  if (engine === 'postgres') {
    const constraints = await sql<{ fault: string }>`
      SELECT conrelid::regclass || ': constraint ' || conname || ' is not valid' AS fault
      FROM pg_constraint WHERE NOT convalidated
      UNION ALL SELECT indexrelid::regclass || ': the index is not valid' FROM pg_index WHERE NOT indisvalid
      LIMIT ${FAULTS_MAX}`.execute(read);
    return constraints.rows.map(({ fault }) => fault);
  }
  try {
    return await checkFile(read);
  } catch (error) {
    // Some damage makes the check itself fail: that is the finding.
    if (error instanceof DatabaseFault) return [error.message];
    throw error;
  }
}

async function checkFile(read: Db): Promise<string[]> {
  const check = sql.raw(`PRAGMA integrity_check(${FAULTS_MAX})`);
  const pages = await sql<{ integrity_check: string }>`${check}`.execute(read);
  const faults = pages.rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
  const references = await sql<{ table: string; parent: string }>`PRAGMA foreign_key_check`.execute(read);
  const named = references.rows.map(
    ({ table, parent }) => `${table}: a row refers to a row of ${parent} that is gone`,
  );
  return [...new Set([...faults, ...named])].slice(0, FAULTS_MAX);
}

/** The time on the database server, in milliseconds; null on SQLite, which has no clock of its own. */
export async function databaseNowMs({
  engine,
  read,
}: Pick<Database, 'engine' | 'read'>): Promise<number | null> {
  if (engine === 'sqlite') return null;
  const { rows } = await sql<{
    now: string;
  }>`SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now`.execute(read);
  return Number(rows[0]?.now);
}
