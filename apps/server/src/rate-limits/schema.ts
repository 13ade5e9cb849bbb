import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE rate_limits (
    class TEXT PRIMARY KEY,
    requests INTEGER NOT NULL,
    window_seconds INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    updated_at BIGINT NOT NULL
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    rate_limits: {
      class: string;
      requests: number;
      window_seconds: number;
      enabled: number;
      updated_at: number;
    };
  }
}
