import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 44,
  name: 'advisory-stretches',
  statements: [
    // A row while the knowledge of vulnerabilities of an ecosystem is too old: it is told once for each stretch.
    `CREATE TABLE advisory_stretches (
      ecosystem TEXT PRIMARY KEY,
      since BIGINT NOT NULL
    )`,
  ],
};
