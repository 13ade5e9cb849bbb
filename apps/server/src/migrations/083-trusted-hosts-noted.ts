import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 83,
  name: 'trusted-hosts-noted',
  // When the plans of a host that is trusted again were in the ledger; null while they are not.
  statements: ['ALTER TABLE artifact_distrusts ADD COLUMN noted_at BIGINT'],
};
