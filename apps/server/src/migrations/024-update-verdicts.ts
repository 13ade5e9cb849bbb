import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 24,
  name: 'update-verdicts',
  statements: [
    // The badge of the newest judgement, for lists and filters; a decision never rests on it (A1, A8).
    'ALTER TABLE updates ADD COLUMN verdict TEXT',
    'ALTER TABLE updates ADD COLUMN severity TEXT',
    // The epoch that a command was signed in: after a restore it is signed anew.
    'ALTER TABLE agent_commands ADD COLUMN epoch INTEGER',
  ],
};
