import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Registered third-party origins. Ended ones stay: decisions name them.
  `CREATE TABLE origins (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    envelope TEXT NOT NULL,
    ecosystem TEXT NOT NULL,
    signing_key TEXT NOT NULL,
    suites TEXT NOT NULL,
    rule TEXT NOT NULL,
    min_age_days INTEGER,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    ended_at BIGINT,
    end_reason TEXT CHECK (end_reason IN ('revoked', 'expired')),
    ended_by TEXT,
    seal TEXT
  )`,
  'CREATE INDEX origins_end ON origins (ends_at) WHERE ended_at IS NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    origins: {
      id: string;
      /** Of the signed payload. */
      sha256: string;
      envelope: string;
      ecosystem: string;
      signing_key: string;
      /** JSON. */
      suites: string;
      rule: string;
      min_age_days: number | null;
      reason: string;
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
