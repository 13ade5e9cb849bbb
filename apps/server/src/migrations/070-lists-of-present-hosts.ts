import type { Migration } from '../platform/db/migrate.ts';

const SEVERITY_RANK = `(CASE severity WHEN 'critical' THEN 6 WHEN 'high' THEN 5 WHEN 'medium' THEN 4 WHEN 'low' THEN 3
  WHEN 'none' THEN 2 WHEN 'unknown' THEN 1 END)`;
/** The indexes of the lists, of updates of hosts that are there alone; 69 has dropped those of all updates. */
const INDEXES = {
  updates_by_discovery: `state, discovered_at, id, severity, verdict, security, known_exploited, ecosystem, name,
    agent_id, updated_at, host_os_id`,
  updates_by_change: 'state, updated_at, id, discovered_at',
  updates_by_name: 'state, name, id, ecosystem, agent_id, host_os_id',
  updates_by_severity: `state, ${SEVERITY_RANK}, id, verdict`,
  updates_by_urgency: 'state, queue_rank, discovered_at, id, verdict, severity',
  updates_by_package: `ecosystem, name, agent_id, state, security, severity, verdict, known_exploited,
    available_version, discovered_at, host_os_id`,
};

export const migration: Migration = {
  version: 70,
  name: 'lists-of-present-hosts',
  statements: [
    ...Object.entries(INDEXES).map(
      ([name, columns]) => `CREATE INDEX ${name} ON updates (${columns}) WHERE gone = 0`,
    ),
    // The newest update of a package is the end of a stretch of it.
    'CREATE INDEX updates_newest ON updates (ecosystem, name, discovered_at) WHERE gone = 0',
    'DROP INDEX agents_gone',
  ],
};
