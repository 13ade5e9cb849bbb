import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Waves of versions through the rings of a policy. `entered`: JSON of the times at which its rings were entered.
  `CREATE TABLE rollouts (
    id TEXT PRIMARY KEY,
    policy_id TEXT NOT NULL,
    policy_sha256 TEXT NOT NULL,
    members_sha256 TEXT NOT NULL,
    lane TEXT NOT NULL CHECK (lane IN ('wave', 'emergency')),
    state TEXT NOT NULL CHECK (state IN ('running', 'halted', 'finished', 'cancelled')),
    ring INTEGER NOT NULL,
    entered TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    approved_ring INTEGER,
    approved_by TEXT,
    asked_ring INTEGER,
    asked_at BIGINT,
    halted_at BIGINT,
    halted_by TEXT,
    halt_reason TEXT,
    withdrawn INTEGER NOT NULL DEFAULT 0,
    ended_at BIGINT,
    end_reason TEXT
  )`,
  // One at a time: newer versions wait for the next.
  'CREATE UNIQUE INDEX rollouts_live ON rollouts (policy_id) WHERE ended_at IS NULL',
  'CREATE INDEX rollouts_members ON rollouts (policy_id, members_sha256, id)',
  "CREATE INDEX rollouts_unwithdrawn ON rollouts (id) WHERE state IN ('halted', 'cancelled') AND withdrawn = 0",
  `CREATE TABLE rollout_packages (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id),
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    hosts INTEGER NOT NULL,
    PRIMARY KEY (rollout_id, ecosystem, name, version)
  )`,
  // The run of a rollout on a host: there is one.
  `CREATE TABLE rollout_hosts (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id),
    agent_id TEXT NOT NULL REFERENCES agents (id),
    ring INTEGER NOT NULL,
    late INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('waiting', 'offline', 'running', 'installed', 'failed', 'probe_failed',
      'silent', 'refused', 'unfit', 'not_offered')),
    excused INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    delivered_at BIGINT,
    settled_at BIGINT,
    ended_there_at BIGINT,
    probes_asked INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (rollout_id, agent_id)
  )`,
  'CREATE INDEX rollout_hosts_outcome ON rollout_hosts (rollout_id, ring, outcome, agent_id)',
  'CREATE INDEX rollout_hosts_agent ON rollout_hosts (agent_id, rollout_id)',
  // The artifacts that hosts of a ring have installed, with the innermost ring.
  `CREATE TABLE rollout_proofs (
    policy_id TEXT NOT NULL,
    members_sha256 TEXT NOT NULL,
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    variant TEXT NOT NULL,
    algorithm TEXT NOT NULL,
    hash TEXT NOT NULL,
    ring INTEGER NOT NULL,
    proven_at BIGINT NOT NULL,
    PRIMARY KEY (policy_id, members_sha256, scope, name, version, variant, algorithm, hash)
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    rollouts: {
      id: string;
      policy_id: string;
      /** The version in force when its worker saw it last: its gates count. */
      policy_sha256: string;
      /** Who is in which ring (`membersDigest`). Another order of rings is another rollout. */
      members_sha256: string;
      lane: 'wave' | 'emergency';
      state: 'running' | 'halted' | 'finished' | 'cancelled';
      /** The ring that was entered last. */
      ring: number;
      /** JSON: when each ring was entered, in order. */
      entered: string;
      started_at: number;
      /** The last ring whose gate a person has approved. */
      approved_ring: number | null;
      approved_by: string | null;
      /** The last ring without a host to update whose hosts were asked to scan, in the emergency lane. */
      asked_ring: number | null;
      asked_at: number | null;
      halted_at: number | null;
      halted_by: string | null;
      halt_reason: string | null;
      /** Whether everything that is not delivered was withdrawn since it stands still. */
      withdrawn: number;
      ended_at: number | null;
      end_reason: string | null;
    };
    rollout_packages: { rollout_id: string; ecosystem: string; name: string; version: string; hosts: number };
    rollout_hosts: {
      rollout_id: string;
      agent_id: string;
      ring: number;
      /** It joined after the rollout had begun. */
      late: number;
      outcome: string;
      /** It failed, and a person has resumed the rollout. */
      excused: number;
      reason: string | null;
      delivered_at: number | null;
      settled_at: number | null;
      /** When the run ended by the host's own clock: what its probes have found since speaks of the run. */
      ended_there_at: number | null;
      probes_asked: number;
    };
    rollout_proofs: {
      policy_id: string;
      members_sha256: string;
      /** The identity of an artifact across the fleet (`ArtifactIdentity`). */
      scope: string;
      name: string;
      version: string;
      variant: string;
      algorithm: string;
      hash: string;
      ring: number;
      proven_at: number;
    };
  }
}
