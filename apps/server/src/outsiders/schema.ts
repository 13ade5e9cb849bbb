import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE outsider_usage (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    day INTEGER NOT NULL,
    rows BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (kind, subject, day)
  )`,
  'CREATE INDEX outsider_usage_day ON outsider_usage (day)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    outsider_usage: { kind: string; subject: string; day: number; rows: number; bytes: number };
  }
}
