/**
 * The columns of every table, as both engines return them: text, numbers (bigint milliseconds, 0/1 for
 * booleans) and null. JSON is text. Each slice declares its tables in its schema.ts, beside the statements that
 * create them; their only SQL is in its store.ts.
 */
export interface Tables {
  schema_migrations: { version: number; name: string; applied_at: number };
}
