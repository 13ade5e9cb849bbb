import type { ClientAuth } from '@tidegate/protocol/identity-providers-api';
import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE identity_providers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    issuer TEXT NOT NULL,
    client_id TEXT NOT NULL,
    sealed_secret TEXT NOT NULL,
    client_auth TEXT NOT NULL,
    scopes TEXT NOT NULL,
    group_claim TEXT NOT NULL,
    username_claim TEXT NOT NULL,
    mapping TEXT NOT NULL,
    default_grant TEXT,
    creates_operators INTEGER NOT NULL,
    factor_values TEXT NOT NULL,
    acr_values TEXT,
    enabled INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    seal TEXT
  )`,

  // Hashes of states and logout tokens that were used, until they would be refused for their age.
  `CREATE TABLE used_sign_ins (
    hash TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
  )`,
  'CREATE INDEX used_sign_ins_expiry ON used_sign_ins (expires_at)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    identity_providers: {
      id: string;
      name: string;
      issuer: string;
      client_id: string;
      /** Sealed with a key outside of the database. */
      sealed_secret: string;
      client_auth: ClientAuth;
      /** JSON list of strings. */
      scopes: string;
      group_claim: string;
      username_claim: string;
      /** JSON list of rules. */
      mapping: string;
      /** JSON of a grant; null: none. */
      default_grant: string | null;
      creates_operators: number;
      /** JSON list of strings. */
      factor_values: string;
      acr_values: string | null;
      enabled: number;
      created_by: string;
      created_at: number;
      changed_at: number;
      seal: SealColumn;
    };
    used_sign_ins: { hash: string; expires_at: number };
  }
}
