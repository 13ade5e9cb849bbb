import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 63,
  name: 'list-orders',
  statements: [
    'CREATE INDEX agents_gone ON agents (id) WHERE deleted_at IS NOT NULL',
    'CREATE INDEX agents_by_host ON agents (lower(hostname), id)',
    'CREATE INDEX agents_by_os ON agents (os_id, os_version_id, id)',
    'CREATE INDEX agents_by_enrolment ON agents (enrolled_at, id)',
    'CREATE INDEX agents_by_version ON agents (agent_version)',
    "CREATE INDEX updates_pending ON updates (agent_id) WHERE state = 'pending'",
    'CREATE INDEX agent_commands_by_creation ON agent_commands (created_at, id)',
    'CREATE INDEX agent_commands_by_agent ON agent_commands (agent_id, created_at, id)',
    'CREATE INDEX agent_commands_by_status ON agent_commands (status, created_at, id)',
    'CREATE INDEX agent_commands_by_action ON agent_commands (action, created_at, id)',
    // All that events are filtered by, in the order of the log: their content is read for one page alone.
    'CREATE INDEX events_listed ON events (position, created_at, kind, type, severity, component, agent_id, actor)',
  ],
};
