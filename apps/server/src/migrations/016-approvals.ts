import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 16,
  name: 'approvals',
  statements: [
    `CREATE TABLE approvals (
      token_id TEXT PRIMARY KEY,
      update_id TEXT NOT NULL REFERENCES updates (id),
      agent_id TEXT NOT NULL REFERENCES agents (id),
      plan_id TEXT NOT NULL REFERENCES update_plans (id),
      envelope TEXT NOT NULL,
      payload_sha256 TEXT NOT NULL,
      verdict TEXT NOT NULL,
      override_by TEXT,
      override_reason TEXT,
      override_event_id TEXT,
      approved_by TEXT NOT NULL,
      issued_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      voided_at BIGINT,
      void_reason TEXT,
      CHECK ((override_by IS NULL) = (override_reason IS NULL))
    )`,
    'CREATE UNIQUE INDEX approvals_live ON approvals (update_id) WHERE voided_at IS NULL',
  ],
};
