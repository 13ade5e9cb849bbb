import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE agent_commands (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    action TEXT NOT NULL,
    params TEXT NOT NULL,
    approval_id TEXT,
    approval_sha256 TEXT,
    status TEXT NOT NULL CHECK (status IN ('pending', 'sent', 'received', 'running', 'success', 'failed',
      'refused', 'interrupted', 'expired', 'cancelled')),
    seq BIGINT,
    key_id TEXT,
    machine_sha256 TEXT,
    epoch INTEGER,
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
    installed TEXT,
    restarts TEXT,
    probes TEXT,
    hooks TEXT,
    answer TEXT,
    called_off_at BIGINT,
    way_back TEXT,
    changed_at BIGINT,
    seal TEXT
  )`,
  "CREATE INDEX agent_commands_open ON agent_commands (agent_id) WHERE status IN ('pending', 'sent')",
  'CREATE INDEX agent_commands_by_creation ON agent_commands (created_at, id)',
  'CREATE INDEX agent_commands_by_agent ON agent_commands (agent_id, created_at, id)',
  'CREATE INDEX agent_commands_by_status ON agent_commands (status, created_at, id)',
  'CREATE INDEX agent_commands_by_action ON agent_commands (action, created_at, id)',
  'CREATE INDEX agent_commands_changed ON agent_commands (changed_at) WHERE changed_at IS NOT NULL',
  // The overview and the calendar count these by index.
  `CREATE INDEX agent_commands_undelivered ON agent_commands (not_before, expires_at)
    WHERE status = 'pending' AND action = 'install_update'`,

  // The updates that the parameters of a command name, to find its commands by an update.
  `CREATE TABLE command_updates (
    command_id TEXT NOT NULL REFERENCES agent_commands (id),
    update_id TEXT NOT NULL,
    PRIMARY KEY (command_id, update_id)
  )`,
  'CREATE INDEX command_updates_update ON command_updates (update_id, command_id)',

  // Updates that an operator has approved and that wait for the plan of their set; a row counts in awaiting_plan only.
  `CREATE TABLE awaited_updates (
    update_id TEXT PRIMARY KEY REFERENCES updates (id) ON DELETE CASCADE,
    set_sha256 TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    round INTEGER NOT NULL,
    policy_id TEXT,
    policy_sha256 TEXT,
    seal TEXT
  )`,
  'CREATE INDEX awaited_updates_set ON awaited_updates (set_sha256, update_id)',

  `CREATE TABLE command_output (
    command_id TEXT NOT NULL REFERENCES agent_commands (id),
    seq BIGINT NOT NULL,
    stream TEXT NOT NULL,
    data TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (command_id, seq)
  )`,
];

/** Of an installation: when the download was over. */
export const INSTALLING_AT: readonly Statement[] = [
  'ALTER TABLE agent_commands ADD COLUMN installing_at BIGINT',
];

/** The bulk request by which a set waits; rows of older servers have none. */
export const BULK_OF_AWAITED: readonly Statement[] = ['ALTER TABLE awaited_updates ADD COLUMN bulk_id TEXT'];

declare module '../platform/db/tables.ts' {
  interface Tables {
    agent_commands: {
      id: string;
      agent_id: string;
      action: string;
      params: string;
      approval_id: string | null;
      approval_sha256: string | null;
      status: string;
      seq: number | null;
      key_id: string | null;
      machine_sha256: string | null;
      /** The epoch of the signature: after a restore it is signed anew. */
      epoch: number | null;
      envelope: string | null;
      created_by: string;
      created_at: number;
      not_before: number;
      expires_at: number;
      sent_at: number | null;
      received_at: number | null;
      started_at: number | null;
      installing_at: number | null;
      finished_at: number | null;
      reason: string | null;
      exit_code: number | null;
      output_tail: string | null;
      installed: string | null;
      /** JSON of what ran old code after the installation. */
      restarts: string | null;
      /** JSON of root's probes before the installation, and of root's programs around it. */
      probes: string | null;
      hooks: string | null;
      /** JSON of `CommandAnswer`. */
      answer: string | null;
      /** When an operator asked for the end of a reboot that its agent has: the agent state says so. */
      called_off_at: number | null;
      /** JSON of how many replaced files the host keeps. */
      way_back: string | null;
      /** When the server last wrote it; times that a host reports are of its own clock. */
      changed_at?: number | null;
      seal: SealColumn;
    };
    command_updates: { command_id: string; update_id: string };
    awaited_updates: {
      update_id: string;
      /** Of all updates that are planned together (`setDigest`). */
      set_sha256: string;
      asked_by: string;
      asked_at: number;
      /** How often flagged updates were left out of the set. */
      round: number;
      /** The policy that asks, and its digest; null: a person does. */
      policy_id: string | null;
      policy_sha256: string | null;
      /** The event of the bulk request by which it waits; null: of no such request. */
      bulk_id: string | null;
      seal: SealColumn;
    };
    command_output: {
      command_id: string;
      seq: number;
      stream: string;
      data: string;
      received_at: number;
    };
  }
}
