import type { Generated } from 'kysely';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE approvals (
    token_id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    plan_id TEXT NOT NULL REFERENCES update_plans (id),
    envelope TEXT NOT NULL,
    payload_sha256 TEXT NOT NULL,
    key_id TEXT NOT NULL DEFAULT '',
    verdict TEXT NOT NULL,
    override_by TEXT,
    override_reason TEXT,
    override_event_id TEXT,
    approved_by TEXT NOT NULL,
    policy_id TEXT,
    policy_sha256 TEXT,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    voided_at BIGINT,
    void_reason TEXT,
    CHECK ((override_by IS NULL) = (override_reason IS NULL))
  )`,
  // Maintenance looks for live ones: by host, by key and by end.
  'CREATE INDEX approvals_live ON approvals (agent_id, token_id) WHERE voided_at IS NULL',
  'CREATE INDEX approvals_plan ON approvals (plan_id)',
  // Base64 hardly compresses, and PostgreSQL's attempt took a third of the time of writing an approval. Its version 15
  // has no syntax for this in CREATE TABLE.
  { postgres: 'ALTER TABLE approvals ALTER COLUMN envelope SET STORAGE EXTERNAL' },

  // The updates of each token; `live` is 0 once the token is void.
  `CREATE TABLE approval_updates (
    token_id TEXT NOT NULL REFERENCES approvals (token_id),
    update_id TEXT NOT NULL REFERENCES updates (id),
    live INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (token_id, update_id)
  )`,
  // No update has two tokens that an agent would accept.
  'CREATE UNIQUE INDEX approval_updates_live ON approval_updates (update_id) WHERE live = 1',
];

/** The bulk request that it came with; approvals of older servers have none. */
export const BULK_OF_APPROVALS: readonly Statement[] = ['ALTER TABLE approvals ADD COLUMN bulk_id TEXT'];

/** To find the approvals of a bulk request. */
export const APPROVALS_BY_BULK: readonly Statement[] = [
  'CREATE INDEX approvals_by_bulk ON approvals (bulk_id) WHERE bulk_id IS NOT NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    approvals: {
      token_id: string;
      agent_id: string;
      plan_id: string;
      envelope: string;
      payload_sha256: string;
      /** The key that signed the token: once it is revoked, no agent accepts the token. */
      key_id: string;
      verdict: string;
      override_by: string | null;
      override_reason: string | null;
      override_event_id: string | null;
      approved_by: string;
      /** The policy that approved in that operator's name, and its digest; null: the operator did. */
      policy_id: string | null;
      policy_sha256: string | null;
      /** The event of the bulk request that it came with; null: with none. */
      bulk_id: string | null;
      issued_at: number;
      expires_at: number;
      voided_at: number | null;
      void_reason: string | null;
    };
    approval_updates: { token_id: string; update_id: string; live: Generated<number> };
  }
}
