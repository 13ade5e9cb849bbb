import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 39,
  name: 'offline-hosts',
  statements: [
    // The last sign of life after which the silence was told: where it is another one, a new silence has begun.
    'ALTER TABLE agent_presence ADD COLUMN silence_told BIGINT',
  ],
};
