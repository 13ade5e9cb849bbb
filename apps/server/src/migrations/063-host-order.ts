import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 63,
  name: 'host-order',
  statements: [
    'CREATE INDEX agents_gone ON agents (id) WHERE deleted_at IS NOT NULL',
    'CREATE INDEX agents_by_host ON agents (lower(hostname), id)',
    'CREATE INDEX agents_by_os ON agents (os_id, os_version_id, id)',
    'CREATE INDEX agents_by_enrolment ON agents (enrolled_at, id)',
    'CREATE INDEX agents_by_version ON agents (agent_version)',
    "CREATE INDEX updates_pending ON updates (agent_id) WHERE state = 'pending'",
    'CREATE INDEX agent_commands_by_creation ON agent_commands (created_at, id, status, action)',
  ],
};
