/**
 * The columns of every table, as both engines return them: text, numbers (bigint milliseconds, 0/1 for booleans) and
 * null. JSON is text. Each slice adds its tables beside the statements that make them, in its schema.ts, and its
 * store.ts has their only SQL.
 */
export interface Tables {
  schema_migrations: { version: number; name: string; applied_at: number };
}
