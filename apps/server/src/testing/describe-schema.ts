import { sql } from 'kysely';
import type { Database, Db } from '../platform/db/engine.ts';

/** All objects of a schema, one line each, by kind: tables, columns, indexes, triggers… */
export type SchemaLines = Readonly<Record<string, readonly string[]>>;

/** Describes a database's schema as the engine sees it, to compare two databases. */
export async function describeSchema({ engine, read }: Database): Promise<SchemaLines> {
  const lines: Record<string, string[]> = {};
  for (const [kind, query] of Object.entries(QUERIES[engine])) lines[kind] = await linesOf(read, query);
  return lines;
}

async function linesOf(db: Db, query: string): Promise<string[]> {
  const { rows } = await sql.raw<Record<string, unknown>>(query).execute(db);
  return rows.map((row) => Object.values(row).join(' | ').replace(/\s+/g, ' '));
}

const OURS = `pg_namespace AS n ON n.nspname = 'public' AND n.oid`;

const QUERIES = {
  // SQLite keeps the text of each statement.
  sqlite: {
    statements: 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, tbl_name, rowid',
  },
  postgres: {
    tables: `SELECT c.relname, c.relkind, c.reloptions FROM pg_class AS c
      JOIN ${OURS} = c.relnamespace WHERE c.relkind NOT IN ('i', 'c') ORDER BY 1`,
    columns: `SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, o.collname, a.attstorage
      FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind IN ('r', 'v')
      JOIN ${OURS} = c.relnamespace
      LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      LEFT JOIN pg_collation AS o ON o.oid = a.attcollation
      WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, 2`,
    constraints: `SELECT k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid), k.convalidated
      FROM pg_constraint AS k JOIN ${OURS} = k.connamespace ORDER BY 1, 2`,
    indexes: `SELECT pg_get_indexdef(i.indexrelid), i.indisvalid FROM pg_index AS i
      JOIN pg_class AS c ON c.oid = i.indexrelid JOIN ${OURS} = c.relnamespace ORDER BY 1`,
    triggers: `SELECT pg_get_triggerdef(g.oid), g.tgenabled FROM pg_trigger AS g WHERE NOT g.tgisinternal ORDER BY 1`,
    functions: `SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p JOIN ${OURS} = p.pronamespace ORDER BY 1`,
    statistics: 'SELECT pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext AS s ORDER BY 1',
    views: `SELECT c.relname, pg_get_viewdef(c.oid) FROM pg_class AS c
      JOIN ${OURS} = c.relnamespace WHERE c.relkind = 'v' ORDER BY 1`,
  },
} as const;
