import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 49,
  name: 'artifact-divergences',
  statements: [
    `CREATE TABLE artifact_divergences (
      id TEXT PRIMARY KEY,
      ecosystem TEXT NOT NULL,
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      variant TEXT NOT NULL,
      algorithm TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('open', 'decided')),
      hash_count INTEGER NOT NULL,
      opened_at BIGINT NOT NULL,
      decided_at BIGINT,
      decided_by TEXT,
      reason TEXT,
      enforced_at BIGINT,
      UNIQUE (scope, name, version, variant, algorithm)
    )`,
    'CREATE INDEX artifact_divergences_state ON artifact_divergences (state, id)',
    'CREATE INDEX artifact_divergences_due ON artifact_divergences (id) WHERE enforced_at IS NULL',
    `CREATE TABLE artifact_divergent_hashes (
      divergence_id TEXT NOT NULL REFERENCES artifact_divergences (id),
      hash TEXT NOT NULL,
      standing TEXT NOT NULL CHECK (standing IN ('disputed', 'accepted', 'refused')),
      agent_id TEXT NOT NULL,
      origin TEXT,
      url TEXT NOT NULL,
      seen_at BIGINT NOT NULL,
      PRIMARY KEY (divergence_id, hash)
    )`,
  ],
};
