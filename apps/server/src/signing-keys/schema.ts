import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE signing_keys (
    key_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL UNIQUE,
    public_key_hex TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    in_use INTEGER NOT NULL DEFAULT 0,
    first_key_set_version INTEGER NOT NULL
  )`,
  'CREATE UNIQUE INDEX signing_keys_in_use ON signing_keys (in_use) WHERE in_use = 1',

  `CREATE TABLE key_sets (
    version INTEGER PRIMARY KEY,
    envelope TEXT NOT NULL,
    signed_by TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  )`,

  `CREATE TABLE signing_roots (
    version INTEGER PRIMARY KEY,
    envelope TEXT NOT NULL,
    installed_at BIGINT NOT NULL
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    signing_keys: {
      key_id: string;
      version: number;
      public_key_hex: string;
      status: 'active' | 'revoked';
      created_at: number;
      revoked_at: number | null;
      in_use: number;
      /** The key set that introduced the key to agents; 0 while it waits for the root's signatures. */
      first_key_set_version: number;
    };
    key_sets: {
      version: number;
      envelope: string;
      signed_by: string;
      issued_at: number;
      expires_at: number;
    };
    signing_roots: { version: number; envelope: string; installed_at: number };
  }
}
