import { BY_KEY, perEngine, type Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  perEngine`CREATE TABLE refresh_families (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    status TEXT NOT NULL CHECK (status IN ('active', 'revoked')),
    revoked_reason TEXT,
    revoked_at BIGINT,
    cur_seq BIGINT NOT NULL,
    cur_hash TEXT NOT NULL,
    cur_issued_at BIGINT NOT NULL,
    prev_hash TEXT,
    prev_issued_at BIGINT,
    prev_grace_used INTEGER NOT NULL DEFAULT 0,
    displaced_hashes TEXT NOT NULL DEFAULT '[]',
    request_id_hash TEXT,
    sealed_child TEXT,
    created_at BIGINT NOT NULL,
    last_rotated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  )${BY_KEY}`,
  "CREATE UNIQUE INDEX refresh_families_active ON refresh_families (agent_id) WHERE status = 'active'",
  'CREATE INDEX refresh_families_revoked ON refresh_families (revoked_at) WHERE revoked_at IS NOT NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    refresh_families: {
      id: string;
      agent_id: string;
      status: 'active' | 'revoked';
      revoked_reason: string | null;
      revoked_at: number | null;
      cur_seq: number;
      cur_hash: string;
      cur_issued_at: number;
      prev_hash: string | null;
      prev_issued_at: number | null;
      prev_grace_used: number;
      displaced_hashes: string;
      request_id_hash: string | null;
      sealed_child: string | null;
      created_at: number;
      last_rotated_at: number;
      expires_at: number;
    };
  }
}
