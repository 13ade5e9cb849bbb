import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 48,
  name: 'artifacts',
  // The first hash of each artifact that the fleet was told of, each kind of hash for itself.
  statements: [
    `CREATE TABLE artifacts (
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      variant TEXT NOT NULL,
      algorithm TEXT NOT NULL CHECK (algorithm IN ('sha256', 'sha512')),
      hash TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      origin TEXT,
      url TEXT NOT NULL,
      seen_at BIGINT NOT NULL,
      PRIMARY KEY (scope, name, version, variant, algorithm)
    )`,
  ],
};
