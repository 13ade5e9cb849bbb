import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE provenances (
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    artifact TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('verified', 'unverified', 'absent', 'unknown', 'mismatch')),
    source_repository TEXT,
    builder TEXT,
    fetched_at BIGINT NOT NULL,
    PRIMARY KEY (ecosystem, name, version, artifact)
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    provenances: {
      ecosystem: string;
      name: string;
      version: string;
      /** The hash that the plan binds; empty if only the existence was queried. */
      artifact: string;
      status: 'verified' | 'unverified' | 'absent' | 'unknown' | 'mismatch';
      source_repository: string | null;
      builder: string | null;
      fetched_at: number;
    };
  }
}
