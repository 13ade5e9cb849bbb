import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 37,
  name: 'clone-suspicions',
  statements: [
    // The last boots of each agent: one that comes back after another is a second machine with the same identity.
    `CREATE TABLE agent_boots (
      agent_id TEXT NOT NULL REFERENCES agents (id),
      boot_id TEXT NOT NULL,
      address TEXT,
      last_seen_at BIGINT NOT NULL,
      PRIMARY KEY (agent_id, boot_id)
    )`,
    `INSERT INTO agent_boots (agent_id, boot_id, address, last_seen_at)
      SELECT id, boot_id, NULL, enrolled_at FROM agents WHERE boot_id IS NOT NULL`,
    `CREATE TABLE clone_suspicions (
      agent_id TEXT PRIMARY KEY REFERENCES agents (id),
      since BIGINT NOT NULL,
      evidence TEXT NOT NULL,
      raised_at BIGINT NOT NULL,
      closed_at BIGINT,
      accepted_addresses TEXT NOT NULL DEFAULT '[]'
    )`,
    'CREATE INDEX clone_suspicions_open ON clone_suspicions (agent_id) WHERE closed_at IS NULL',
  ],
};
