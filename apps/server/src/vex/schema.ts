import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Operators' statements about vulnerabilities. Ended ones stay: decisions name them.
  `CREATE TABLE vex_statements (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    envelope TEXT NOT NULL,
    vulnerability TEXT NOT NULL,
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    distribution TEXT,
    versions TEXT NOT NULL,
    scope TEXT NOT NULL,
    status TEXT NOT NULL,
    justification TEXT,
    text TEXT NOT NULL,
    imported TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    ended_at BIGINT,
    end_reason TEXT CHECK (end_reason IN ('revoked', 'expired')),
    ended_by TEXT,
    seal TEXT
  )`,
  'CREATE INDEX vex_statements_package ON vex_statements (ecosystem, name) WHERE ended_at IS NULL',
  'CREATE INDEX vex_statements_end ON vex_statements (ends_at) WHERE ended_at IS NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    vex_statements: {
      id: string;
      /** Of the signed payload. */
      sha256: string;
      envelope: string;
      vulnerability: string;
      ecosystem: string;
      /** In canonical form. */
      name: string;
      distribution: string | null;
      /** JSON. */
      versions: string;
      /** JSON. */
      scope: string;
      status: string;
      justification: string | null;
      text: string;
      /** JSON. */
      imported: string | null;
      created_by: string;
      created_at: number;
      ends_at: number;
      ended_at: number | null;
      end_reason: 'revoked' | 'expired' | null;
      ended_by: string | null;
      seal: SealColumn;
    };
  }
}
