/** One text for both engines, or one for each; an engine without a text needs no statement. */
export type Statement = string | PerEngine;

export interface PerEngine {
  readonly sqlite?: string;
  readonly postgres?: string;
}

/** Sorts text by bytes on both engines, whatever the collation of the database. */
export const BYTEWISE: PerEngine = { postgres: ' COLLATE "C"' };
/** SQLite stores the rows in the tree of their key: reading one searches one tree, not two. */
export const BY_KEY: PerEngine = { sqlite: ' WITHOUT ROWID' };
/** For narrow rows that change often: PostgreSQL has room for the new version of a row in the page of the old one. */
export const HOT_ROWS: PerEngine = { sqlite: ' WITHOUT ROWID', postgres: ' WITH (fillfactor = 50)' };
/**
 * For tables whose lists are index-only scans, which need vacuumed pages, while changes are spread over the
 * whole table: PostgreSQL vacuums when 0.5 % of the rows have changed instead of 20 %.
 */
export const LISTED: PerEngine = { postgres: ' WITH (autovacuum_vacuum_scale_factor = 0.005)' };

/** One statement for both engines; its parts may differ. */
export function perEngine(texts: TemplateStringsArray, ...parts: readonly Statement[]): PerEngine {
  return { sqlite: textFor('sqlite', texts, parts), postgres: textFor('postgres', texts, parts) };
}

function textFor(engine: keyof PerEngine, texts: readonly string[], parts: readonly Statement[]): string {
  return texts.map((text, i) => text + textOf(parts[i] ?? '', engine)).join('');
}

/** The text for an engine; empty if it needs none. */
export function textOf(statement: Statement, engine: keyof PerEngine): string {
  return typeof statement === 'string' ? statement : (statement[engine] ?? '');
}

/** A PostgreSQL trigger and its function of the same name. */
export function postgresTrigger(
  name: string,
  { on, body, set = '' }: { on: string; body: string; set?: string },
): string {
  return `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql ${set} AS $$ BEGIN ${body} END $$;
    CREATE TRIGGER ${name} ${on} EXECUTE FUNCTION ${name}()`;
}
