import type { Database, SqlValue, Tx } from '../platform/db/engine.ts';
import type { Migration } from '../platform/db/migrate.ts';
import { foldAll } from '../updates/sums-store.ts';
import type { BackupLine } from './backup-lines.ts';
import { eachBackupLine } from './read-backup.ts';
import { clearTable, insertRows, presentTables, withoutTriggers } from './table-store.ts';

/** Rows per statement. */
const BATCH_ROWS = 500;

export interface Import {
  file: string;
  identities: readonly string[];
  /** Of its content, when it was verified. */
  sha256: string;
  engine: Database['engine'];
  /** Those that the empty database has. */
  migrations: readonly Migration[];
  onTable: (table: string, rows: number) => void;
  /** Called after the last line: secrets of another file are never taken. */
  onFile: (name: string, text: string) => void;
}

/**
 * Fills an empty database with the rows of a verified backup, in the caller's transaction. Throws DamagedBackup if the file is
 * another one by now.
 */
export async function importBackup(tx: Tx, job: Import): Promise<void> {
  const tables = await presentTables(tx, job.migrations);
  await withoutTriggers(tx, { engine: job.engine, tables }, async () => {
    for (const table of tables.toReversed()) await clearTable(tx, table);
    let open: { table: string; columns: string[]; count: number } | null = null;
    let rows: SqlValue[][] = [];
    const files: Extract<BackupLine, { kind: 'file' }>[] = [];
    const flush = async () => {
      if (open && rows.length > 0) await insertRows(tx, { engine: job.engine, ...open, rows });
      rows = [];
    };
    const close = async () => {
      await flush();
      if (open) job.onTable(open.table, open.count);
      open = null;
    };
    await eachBackupLine(job.file, job, async (line) => {
      switch (line.kind) {
        case 'header':
          return;
        case 'table':
          await close();
          if (!tables.includes(line.table))
            throw new Error(`the backup has a table ${line.table} that is not known`);
          open = { table: line.table, columns: line.columns, count: 0 };
          return;
        case 'row':
          rows.push(line.row);
          if (open) open.count++;
          if (rows.length >= BATCH_ROWS) await flush();
          return;
        case 'file':
          files.push(line);
          return;
        case 'end':
          return close();
      }
    });
    for (const { file, text } of files) job.onFile(file, text);
  });
  await foldAll(tx);
}
