import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 65,
  name: 'watched-changes',
  statements: [
    // By which a server finds out what changed anywhere in the fleet, on whichever replica: when a row was written last.
    'CREATE INDEX updates_updated ON updates (updated_at)',
    'ALTER TABLE updates ADD COLUMN judged_at BIGINT',
    'CREATE INDEX updates_judged ON updates (judged_at) WHERE judged_at IS NOT NULL',
    // The times that a host tells of are of its own clock.
    'ALTER TABLE agent_commands ADD COLUMN changed_at BIGINT',
    'CREATE INDEX agent_commands_changed ON agent_commands (changed_at) WHERE changed_at IS NOT NULL',
  ],
};
