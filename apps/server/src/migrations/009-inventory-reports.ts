import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 9,
  name: 'inventory-reports',
  statements: [
    `CREATE TABLE inventory_reports (
      agent_id TEXT NOT NULL REFERENCES agents (id),
      ecosystem TEXT NOT NULL,
      digest TEXT NOT NULL,
      scanned_at BIGINT NOT NULL,
      received_at BIGINT NOT NULL,
      complete INTEGER NOT NULL,
      package_count INTEGER NOT NULL,
      PRIMARY KEY (agent_id, ecosystem)
    )`,
  ],
};
