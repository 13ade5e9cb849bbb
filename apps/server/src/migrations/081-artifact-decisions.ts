import type { Migration } from '../platform/db/migrate.ts';

const HASHES = (standing: string) =>
  `SELECT h.hash FROM artifact_divergent_hashes AS h WHERE h.divergence_id = d.id AND h.standing = '${standing}'`;
const LIST = {
  sqlite: (standing: string) => `(SELECT json_group_array(hash) FROM (${HASHES(standing)} ORDER BY h.hash))`,
  postgres: (standing: string) =>
    `(SELECT coalesce(json_agg(s.hash ORDER BY s.hash), '[]'::json)::text FROM (${HASHES(standing)}) AS s)`,
};
const convert = (list: (standing: string) => string) =>
  `INSERT INTO artifact_decisions
    SELECT d.id, d.id, 'accept', ${list('accepted')}, ${list('refused')}, coalesce(d.reason, ''),
      coalesce(d.decided_by, ''), coalesce(d.decided_at, d.opened_at)
      FROM artifact_divergences AS d WHERE EXISTS (SELECT 1 FROM artifact_divergent_hashes AS h
        WHERE h.divergence_id = d.id AND h.standing <> 'disputed')`;

export const migration: Migration = {
  version: 81,
  name: 'artifact-decisions',
  statements: [
    // Every decision stays; the divergence names the one in force.
    `CREATE TABLE artifact_decisions (
      id TEXT PRIMARY KEY,
      divergence_id TEXT NOT NULL REFERENCES artifact_divergences (id),
      kind TEXT NOT NULL CHECK (kind IN ('accept', 'undo')),
      accepted TEXT NOT NULL,
      refused TEXT NOT NULL,
      reason TEXT NOT NULL,
      actor TEXT NOT NULL,
      decided_at BIGINT NOT NULL
    )`,
    'CREATE INDEX artifact_decisions_divergence ON artifact_decisions (divergence_id, id)',
    { sqlite: convert(LIST.sqlite), postgres: convert(LIST.postgres) },
    'ALTER TABLE artifact_divergences ADD COLUMN decision_id TEXT',
    'ALTER TABLE artifact_divergences ADD COLUMN settled_by TEXT',
    `UPDATE artifact_divergences SET decision_id = id
      WHERE EXISTS (SELECT 1 FROM artifact_decisions AS k WHERE k.divergence_id = artifact_divergences.id)`,
    `UPDATE artifact_divergences SET settled_by = 'operator' WHERE state = 'decided'`,
    // A hash that an operator typed was told by no host, and there are more standings than two.
    `CREATE TABLE artifact_hashes (
      divergence_id TEXT NOT NULL REFERENCES artifact_divergences (id),
      hash TEXT NOT NULL,
      standing TEXT NOT NULL CHECK (standing IN
        ('accepted', 'refused', 'confirmed', 'contradicted', 'established', 'outvoted', 'disputed', 'unsupported')),
      hosts INTEGER NOT NULL,
      agent_id TEXT,
      origin TEXT,
      url TEXT NOT NULL,
      seen_at BIGINT NOT NULL,
      PRIMARY KEY (divergence_id, hash)
    )`,
    `INSERT INTO artifact_hashes SELECT divergence_id, hash, standing, 1, agent_id, origin, url, seen_at
      FROM artifact_divergent_hashes`,
    'DROP TABLE artifact_divergent_hashes',
  ],
};
