import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 57,
  name: 'host-groups',
  statements: [
    // A host is in one group at most; there is no table of groups: one is there as long as a host is in it.
    'ALTER TABLE agents ADD COLUMN group_name TEXT',
    'CREATE INDEX agents_group ON agents (group_name) WHERE group_name IS NOT NULL',
  ],
};
