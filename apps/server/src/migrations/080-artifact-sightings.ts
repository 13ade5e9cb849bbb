import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 80,
  name: 'artifact-sightings',
  // Who said what of each artifact. The row in `artifacts` stays as the one place where first claims meet.
  statements: [
    `CREATE TABLE artifact_sightings (
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      variant TEXT NOT NULL,
      algorithm TEXT NOT NULL,
      hash TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      differs INTEGER NOT NULL,
      origin TEXT,
      url TEXT NOT NULL,
      seen_at BIGINT NOT NULL,
      PRIMARY KEY (scope, name, version, variant, algorithm, hash, agent_id)
    )`,
    'CREATE INDEX artifact_sightings_host ON artifact_sightings (agent_id, seen_at)',
    'CREATE INDEX artifact_sightings_differing ON artifact_sightings (agent_id, seen_at) WHERE differs = 1',
    `INSERT INTO artifact_sightings
      SELECT scope, name, version, variant, algorithm, hash, agent_id, 0, origin, url, seen_at FROM artifacts`,
    `INSERT INTO artifact_sightings
      SELECT d.scope, d.name, d.version, d.variant, d.algorithm, h.hash, h.agent_id, 0, h.origin, h.url, h.seen_at
        FROM artifact_divergent_hashes AS h JOIN artifact_divergences AS d ON d.id = h.divergence_id
        WHERE NOT EXISTS (SELECT 1 FROM artifacts AS a WHERE a.scope = d.scope AND a.name = d.name
          AND a.version = d.version AND a.variant = d.variant AND a.algorithm = d.algorithm
          AND a.hash = h.hash AND a.agent_id = h.agent_id)`,
    `CREATE TABLE artifact_distrusts (
      agent_id TEXT PRIMARY KEY,
      since BIGINT NOT NULL,
      role TEXT NOT NULL CHECK (role IN ('newcomer', 'opponent')),
      lifted_at BIGINT,
      lifted_by TEXT,
      reason TEXT
    )`,
    // Whose word alone a newcomer contradicted when it was set aside.
    `CREATE TABLE artifact_contests (
      opponent TEXT NOT NULL,
      newcomer TEXT NOT NULL,
      contested_at BIGINT NOT NULL,
      PRIMARY KEY (opponent, newcomer)
    )`,
    'CREATE INDEX artifact_contests_newcomer ON artifact_contests (newcomer)',
  ],
};
