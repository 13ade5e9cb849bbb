import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE registration_tokens (
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    secret_hash TEXT NOT NULL UNIQUE,
    seats INTEGER NOT NULL,
    seats_used INTEGER NOT NULL DEFAULT 0,
    group_name TEXT,
    tags TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    deleted_at BIGINT,
    seal TEXT,
    CHECK (seats_used <= seats)
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    registration_tokens: {
      id: string;
      label: string;
      secret_hash: string;
      seats: number;
      seats_used: number;
      /** The group for hosts that enrol with it; null: a host keeps its group, a new one has none. */
      group_name: string | null;
      /** JSON: tags of hosts that enrol with it for the first time. */
      tags: string;
      created_by: string;
      created_at: number;
      expires_at: number;
      deleted_at: number | null;
      seal: SealColumn;
    };
  }
}
