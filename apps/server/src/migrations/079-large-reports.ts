import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 79,
  name: 'large-reports',
  statements: [
    // Set while a report is written in many transactions; its digest is empty meanwhile, and it is not complete.
    'ALTER TABLE inventory_reports ADD COLUMN writing TEXT',
    // A report that comes in parts, until all of them are there: gzip in base64, in pieces. Piece 0 comes last and says
    // what the part is, so that a part without it is not there.
    `CREATE TABLE inventory_parts (
      agent_id TEXT NOT NULL REFERENCES agents (id),
      ecosystem TEXT NOT NULL,
      report TEXT NOT NULL,
      part INTEGER NOT NULL,
      piece INTEGER NOT NULL,
      received_at BIGINT NOT NULL,
      digest TEXT,
      parts INTEGER,
      pieces INTEGER,
      size_bytes BIGINT,
      package_count INTEGER,
      data TEXT NOT NULL,
      PRIMARY KEY (agent_id, ecosystem, report, part, piece)
    )`,
    'CREATE INDEX inventory_parts_received ON inventory_parts (received_at)',
    // In the order in which the updates of a host are read page by page.
    'DROP INDEX updates_agent',
    'CREATE INDEX updates_agent ON updates (agent_id, ecosystem, id)',
  ],
};
