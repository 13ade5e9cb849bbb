import type { SealColumn } from '../../platform/db/seal.ts';
import type { Statement } from '../../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Accounts of identity providers that log operators in, by issuer and subject alone.
  `CREATE TABLE operator_identities (
    id TEXT PRIMARY KEY,
    operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    provider_id TEXT NOT NULL REFERENCES identity_providers (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    lost_at BIGINT,
    seal TEXT,
    UNIQUE (provider_id, issuer, subject)
  )`,
  'CREATE INDEX operator_identities_operator ON operator_identities (operator_id, id)',

  // Which account opened a session: what ends it, and what a proof of the same account must match.
  `CREATE TABLE provider_sessions (
    session_id TEXT PRIMARY KEY REFERENCES operator_sessions (id) ON DELETE CASCADE,
    operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    provider_id TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    provider_sid TEXT,
    sealed_id_token TEXT,
    seal TEXT
  )`,
  'CREATE INDEX provider_sessions_provider ON provider_sessions (provider_id, subject)',
];

declare module '../../platform/db/tables.ts' {
  interface Tables {
    operator_identities: {
      id: string;
      operator_id: string;
      provider_id: string;
      issuer: string;
      subject: string;
      created_by: string;
      created_at: number;
      last_used_at: number | null;
      /** When the account lost its access for want of a group, and the operator was disabled for it. */
      lost_at: number | null;
      seal: SealColumn;
    };
    provider_sessions: {
      session_id: string;
      operator_id: string;
      provider_id: string;
      issuer: string;
      subject: string;
      /** The provider's own name of the session, for its logout. */
      provider_sid: string | null;
      /** Names the session to the provider at logout; sealed with a key outside of the database. */
      sealed_id_token: string | null;
      seal: SealColumn;
    };
  }
}
