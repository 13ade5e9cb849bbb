import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 17,
  name: 'agent-commands',
  statements: [
    `CREATE TABLE agent_commands (
      id TEXT PRIMARY KEY,
      agent_id TEXT NOT NULL REFERENCES agents (id),
      action TEXT NOT NULL,
      params TEXT NOT NULL,
      update_id TEXT,
      approval_id TEXT,
      approval_sha256 TEXT,
      status TEXT NOT NULL CHECK (status IN ('pending', 'sent', 'received', 'running', 'success', 'failed',
        'refused', 'interrupted', 'expired', 'cancelled')),
      seq BIGINT,
      key_id TEXT,
      machine_sha256 TEXT,
      envelope TEXT,
      created_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      not_before BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      sent_at BIGINT,
      received_at BIGINT,
      started_at BIGINT,
      finished_at BIGINT,
      reason TEXT,
      exit_code INTEGER,
      output_tail TEXT,
      installed TEXT
    )`,
    "CREATE INDEX agent_commands_open ON agent_commands (agent_id) WHERE status IN ('pending', 'sent')",
    'CREATE INDEX agent_commands_update ON agent_commands (update_id)',
    `CREATE TABLE command_output (
      command_id TEXT NOT NULL REFERENCES agent_commands (id),
      seq BIGINT NOT NULL,
      stream TEXT NOT NULL,
      data TEXT NOT NULL,
      received_at BIGINT NOT NULL,
      PRIMARY KEY (command_id, seq)
    )`,
  ],
};
