import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // The operator is not a foreign key: a shared view outlives its creator.
  `CREATE TABLE saved_views (
    id TEXT PRIMARY KEY,
    operator_id TEXT NOT NULL,
    created_by TEXT NOT NULL,
    name TEXT NOT NULL,
    page TEXT NOT NULL CHECK (page IN ('updates', 'packages', 'hosts')),
    query TEXT NOT NULL,
    shared INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    UNIQUE (operator_id, page, name)
  )`,
  'CREATE INDEX saved_views_shared ON saved_views (id) WHERE shared = 1',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    saved_views: {
      id: string;
      operator_id: string;
      created_by: string;
      name: string;
      page: string;
      query: string;
      shared: number;
      created_at: number;
    };
  }
}
