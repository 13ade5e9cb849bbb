import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // Versions of standing approvals. Ended ones stay: decisions and tokens name their digest.
  `CREATE TABLE policies (
    sha256 TEXT PRIMARY KEY,
    policy_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    document TEXT NOT NULL,
    envelope TEXT NOT NULL,
    author_id TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    ended_at BIGINT,
    end_reason TEXT CHECK (end_reason IN ('replaced', 'revoked', 'expired', 'author_disabled', 'author_demoted',
      'author_bound', 'author_deleted')),
    ended_by TEXT,
    seal TEXT,
    UNIQUE (policy_id, version)
  )`,
  'CREATE UNIQUE INDEX policies_in_force ON policies (policy_id) WHERE ended_at IS NULL',
  'CREATE UNIQUE INDEX policies_name ON policies (name) WHERE ended_at IS NULL',
  // The calendar reads what was in force at a time.
  'CREATE INDEX policies_ended ON policies (ended_at)',
  // What the last run of each policy did. `stopped_by`: JSON, how many updates the gate stopped, by reason.
  `CREATE TABLE policy_runs (
    policy_id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    hosts BIGINT NOT NULL,
    approved BIGINT NOT NULL,
    awaiting_plan BIGINT NOT NULL,
    stopped BIGINT NOT NULL,
    stopped_by TEXT NOT NULL
  )`,
  // What each policy approved, by quarter of an hour; without a row, nothing.
  `CREATE TABLE policy_run_slots (
    slot BIGINT NOT NULL,
    policy_id TEXT NOT NULL,
    approved BIGINT NOT NULL,
    PRIMARY KEY (slot, policy_id)
  )`,
  // The opening that each policy has announced last.
  `CREATE TABLE policy_openings (
    policy_id TEXT PRIMARY KEY,
    opens_at BIGINT NOT NULL
  )`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    policies: {
      /** Of the signed payload. */
      sha256: string;
      policy_id: string;
      version: number;
      name: string;
      /** The signed payload, JSON. */
      document: string;
      envelope: string;
      author_id: string;
      author: string;
      created_at: number;
      ends_at: number;
      ended_at: number | null;
      end_reason: string | null;
      ended_by: string | null;
      seal: SealColumn;
    };
    policy_runs: {
      policy_id: string;
      at: number;
      hosts: number;
      approved: number;
      awaiting_plan: number;
      stopped: number;
      stopped_by: string;
    };
    policy_run_slots: { slot: number; policy_id: string; approved: number };
    policy_openings: { policy_id: string; opens_at: number };
  }
}
