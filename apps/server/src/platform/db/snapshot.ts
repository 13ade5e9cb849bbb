import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client, types } from 'pg';
import type { SqlValue } from './engine.ts';
import { SQLITE_FILE } from './open.ts';

/** Rows that are read at once. */
const BATCH_ROWS = 500;

export interface SnapshotBatch {
  columns: readonly string[];
  rows: readonly (readonly SqlValue[])[];
}

/** The database at one moment, while others go on writing. It costs them only disk space. */
export interface Snapshot {
  readonly engine: 'sqlite' | 'postgres';
  tables(): Promise<ReadonlySet<string>>;
  /** Rows in the order of the first column; no batch if the table is empty. `table` must be one of `tables()`. */
  read(table: string): AsyncIterable<SnapshotBatch>;
  close(): Promise<void>;
}

/** Throws if there is no database or it cannot be read. */
export async function openSnapshot({
  dataDir,
  databaseUrl,
}: {
  dataDir: string;
  databaseUrl: string | null;
}): Promise<Snapshot> {
  return databaseUrl === null
    ? openSqliteSnapshot(join(dataDir, SQLITE_FILE))
    : openPostgresSnapshot(databaseUrl);
}

function openSqliteSnapshot(file: string): Snapshot {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  // The first read fixes the moment of the snapshot.
  database.exec('BEGIN');
  const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  return {
    engine: 'sqlite',
    tables: async () => new Set(names.map(({ name }) => String(name))),
    async *read(table) {
      const statement = database.prepare(`SELECT * FROM ${quoted(table)} ORDER BY 1`);
      const columns = statement.columns().map(({ name }) => name);
      let rows: SqlValue[][] = [];
      for (const row of statement.iterate()) {
        rows.push(columns.map((column) => plain(row[column])));
        if (rows.length < BATCH_ROWS) continue;
        yield { columns, rows };
        rows = [];
      }
      if (rows.length > 0) yield { columns, rows };
    },
    async close() {
      database.close();
    },
  };
}

const INT8_OID = 20;

async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    types: { getTypeParser: (oid, format) => (oid === INT8_OID ? Number : types.getTypeParser(oid, format)) },
  });
  // A broken connection makes the current query fail, and the next one.
  client.on('error', () => {});
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const found = await client.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
  );
  return {
    engine: 'postgres',
    tables: async () => new Set(found.rows.map(({ name }) => name)),
    async *read(table) {
      await client.query(
        `DECLARE snapshot_rows NO SCROLL CURSOR FOR SELECT * FROM ${quoted(table)} ORDER BY 1`,
      );
      try {
        for (;;) {
          const text = `FETCH ${BATCH_ROWS} FROM snapshot_rows`;
          const result = await client.query<unknown[]>({ text, rowMode: 'array' });
          if (result.rows.length === 0) break;
          const columns = result.fields.map(({ name }) => name);
          yield { columns, rows: result.rows.map((row) => row.map(plain)) };
        }
      } finally {
        // Also if the reader stops early.
        await client.query('CLOSE snapshot_rows');
      }
    },
    close: () => client.end(),
  };
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function plain(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError(`a ${typeof value} cannot be backed up: columns hold text, numbers and null`);
}
