import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE client_errors (
    id TEXT PRIMARY KEY,
    severity TEXT NOT NULL,
    actor TEXT,
    content TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    created_at BIGINT NOT NULL
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    client_errors: {
      id: string;
      severity: string;
      actor: string | null;
      content: string;
      bytes: number;
      created_at: number;
    };
  }
}
