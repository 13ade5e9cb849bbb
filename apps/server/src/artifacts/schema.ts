import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // The first claim of each artifact, per algorithm: the row on which two simultaneous first claims meet.
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

  // Which host reported which hash of each artifact.
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

  // Hosts whose sightings do not count, or once did not.
  `CREATE TABLE artifact_distrusts (
    agent_id TEXT PRIMARY KEY,
    since BIGINT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('newcomer', 'opponent')),
    lifted_at BIGINT,
    lifted_by TEXT,
    reason TEXT,
    noted_at BIGINT
  )`,
  // Hosts whose reports alone a newcomer contradicted when it was set aside.
  `CREATE TABLE artifact_contests (
    opponent TEXT NOT NULL,
    newcomer TEXT NOT NULL,
    contested_at BIGINT NOT NULL,
    PRIMARY KEY (opponent, newcomer)
  )`,
  'CREATE INDEX artifact_contests_newcomer ON artifact_contests (newcomer)',

  `CREATE TABLE artifact_divergences (
    id TEXT PRIMARY KEY,
    ecosystem TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    variant TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'decided')),
    settled_by TEXT,
    hash_count INTEGER NOT NULL,
    opened_at BIGINT NOT NULL,
    decided_at BIGINT,
    decided_by TEXT,
    reason TEXT,
    decision_id TEXT,
    UNIQUE (scope, name, version, variant, algorithm)
  )`,
  'CREATE INDEX artifact_divergences_state ON artifact_divergences (state, id)',
  // All decisions are kept; the divergence names the one in force.
  `CREATE TABLE artifact_decisions (
    id TEXT PRIMARY KEY,
    divergence_id TEXT NOT NULL REFERENCES artifact_divergences (id),
    kind TEXT NOT NULL CHECK (kind IN ('accept', 'undo')),
    accepted TEXT NOT NULL,
    refused TEXT NOT NULL,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    decided_at BIGINT NOT NULL,
    seal TEXT
  )`,
  'CREATE INDEX artifact_decisions_divergence ON artifact_decisions (divergence_id, id)',
  // The hashes of a divergence as last settled; the gate judges the sightings themselves.
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

  // Checks of live approvals still to be made: an artifact whose hash lost, or a host that was set aside.
  `CREATE TABLE artifact_enforcements (
    kind TEXT NOT NULL CHECK (kind IN ('divergence', 'host')),
    subject TEXT NOT NULL,
    width INTEGER NOT NULL,
    queued_at BIGINT NOT NULL,
    PRIMARY KEY (kind, subject)
  )`,
  'CREATE INDEX artifact_enforcements_age ON artifact_enforcements (queued_at, subject)',
  'CREATE INDEX artifact_enforcements_width ON artifact_enforcements (width, queued_at, subject)',
];

interface Sighted {
  scope: string;
  name: string;
  version: string;
  variant: string;
  algorithm: string;
  hash: string;
  agent_id: string;
  origin: string | null;
  url: string;
  seen_at: number;
}

declare module '../platform/db/tables.ts' {
  interface Tables {
    artifacts: Sighted;
    artifact_sightings: Sighted & {
      /** 1 if the host contradicted an earlier claim. */
      differs: number;
    };
    artifact_distrusts: {
      agent_id: string;
      since: number;
      role: 'newcomer' | 'opponent';
      lifted_at: number | null;
      lifted_by: string | null;
      reason: string | null;
      /** When the plans of a host that is trusted again were recorded in the ledger; null until then. */
      noted_at: number | null;
    };
    artifact_contests: { opponent: string; newcomer: string; contested_at: number };
    artifact_divergences: {
      id: string;
      ecosystem: string;
      scope: string;
      name: string;
      version: string;
      variant: string;
      algorithm: string;
      /** `decided`: nobody needs to act. */
      state: 'open' | 'decided';
      settled_by: 'operator' | 'registry' | 'quorum' | 'hosts' | null;
      hash_count: number;
      opened_at: number;
      decided_at: number | null;
      decided_by: string | null;
      reason: string | null;
      /** The operator's decision in force. */
      decision_id: string | null;
    };
    artifact_decisions: {
      id: string;
      divergence_id: string;
      kind: 'accept' | 'undo';
      /** JSON arrays of hashes. */
      accepted: string;
      refused: string;
      reason: string;
      actor: string;
      decided_at: number;
      seal: SealColumn;
    };
    artifact_hashes: {
      divergence_id: string;
      hash: string;
      standing:
        | 'accepted'
        | 'refused'
        | 'confirmed'
        | 'contradicted'
        | 'established'
        | 'outvoted'
        | 'disputed'
        | 'unsupported';
      /** Hosts that count and were noted with it. */
      hosts: number;
      /** Null when an operator typed it. */
      agent_id: string | null;
      origin: string | null;
      url: string;
      seen_at: number;
    };
    artifact_enforcements: {
      kind: 'divergence' | 'host';
      /** The id of the divergence or of the host. */
      subject: string;
      width: number;
      queued_at: number;
    };
  }
}
