import type { Migration } from '../platform/db/migrate.ts';

const SEVERITY_RANK = `(CASE severity WHEN 'critical' THEN 6 WHEN 'high' THEN 5 WHEN 'medium' THEN 4 WHEN 'low' THEN 3
  WHEN 'none' THEN 2 WHEN 'unknown' THEN 1 END)`;
/** Texts are sorted by their bytes on both engines, whatever the database was created with. */
const inBytes = (table: string, columns: readonly string[]) => ({
  sqlite: 'SELECT 1',
  postgres: `ALTER TABLE ${table} ${columns.map((column) => `ALTER COLUMN ${column} TYPE TEXT COLLATE "C"`).join(', ')}`,
});

export const migration: Migration = {
  version: 61,
  name: 'list-order',
  statements: [
    inBytes('updates', ['ecosystem', 'name', 'state', 'severity', 'verdict']),
    inBytes('agents', ['hostname', 'os_id', 'os_version_id', 'agent_version']),
    // Each order of the queue within each state: a list of all states is put together from the beginnings of eight.
    // What else is filtered by stands behind, so that rows that do not count are passed over without reading them.
    `CREATE INDEX updates_by_discovery ON updates
      (state, discovered_at, id, severity, verdict, security, known_exploited, ecosystem, name, agent_id, updated_at)`,
    'CREATE INDEX updates_by_change ON updates (state, updated_at, id)',
    'CREATE INDEX updates_by_name ON updates (state, name, id)',
    `CREATE INDEX updates_by_severity ON updates (state, ${SEVERITY_RANK}, id, verdict)`,
    'CREATE INDEX updates_by_urgency ON updates (state, queue_rank, discovered_at, id, verdict, severity)',
    // All that is rolled up by package; it takes the place of a smaller one.
    `CREATE INDEX updates_by_package ON updates (ecosystem, name, agent_id, state, security, severity, verdict,
      known_exploited, available_version, discovered_at)`,
    'DROP INDEX updates_name',
  ],
};
