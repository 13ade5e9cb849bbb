/** A text that both engines understand, or one for each; an engine without a text needs nothing. */
export type Statement = string | PerEngine;

export interface PerEngine {
  readonly sqlite?: string;
  readonly postgres?: string;
}

/** Texts are sorted by their bytes on both engines, whatever the database was created with. */
export const BYTEWISE: PerEngine = { postgres: ' COLLATE "C"' };
/** SQLite keeps the rows in the order of their key: a read of one searches one tree, not two. */
export const BY_KEY: PerEngine = { sqlite: ' WITHOUT ROWID' };
/** For narrow rows that change all the time: PostgreSQL keeps the new version of a row in the page of the old one. */
export const HOT_ROWS: PerEngine = { sqlite: ' WITHOUT ROWID', postgres: ' WITH (fillfactor = 50)' };
/**
 * Lists are read from indexes alone as far as pages have been vacuumed since they were last written, and the rows that
 * change are all over the table: PostgreSQL vacuums it when a two-hundredth has changed, not a fifth.
 */
export const LISTED: PerEngine = { postgres: ' WITH (autovacuum_vacuum_scale_factor = 0.005)' };

/** One statement for both engines, with what differs in its place. */
export function perEngine(texts: TemplateStringsArray, ...parts: readonly Statement[]): PerEngine {
  return { sqlite: textFor('sqlite', texts, parts), postgres: textFor('postgres', texts, parts) };
}

function textFor(engine: keyof PerEngine, texts: readonly string[], parts: readonly Statement[]): string {
  return texts.map((text, i) => text + textOf(parts[i] ?? '', engine)).join('');
}

/** The text for an engine; empty where it needs nothing. */
export function textOf(statement: Statement, engine: keyof PerEngine): string {
  return typeof statement === 'string' ? statement : (statement[engine] ?? '');
}

/** A trigger of PostgreSQL and its function, which bears the same name. */
export function postgresTrigger(
  name: string,
  { on, body, set = '' }: { on: string; body: string; set?: string },
): string {
  return `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql ${set} AS $$ BEGIN ${body} END $$;
    CREATE TRIGGER ${name} ${on} EXECUTE FUNCTION ${name}()`;
}
