import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 96,
  name: 'updates-by-host',
  statements: [
    // For each new row a trigger asks whether its host had an update of the same package before (migration 69):
    // without the name in the index it reads all updates of the host, for every row of a report.
    'DROP INDEX updates_agent',
    'CREATE INDEX updates_agent ON updates (agent_id, ecosystem, name, id)',
  ],
};
