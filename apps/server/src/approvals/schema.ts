import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // What each decision of the gate rested on, about a set of updates of one host.
  `CREATE TABLE decisions (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    set_sha256 TEXT NOT NULL,
    plan_id TEXT,
    outcome TEXT NOT NULL CHECK (outcome IN ('minted', 'blocked', 'handed_back')),
    actor TEXT NOT NULL,
    token_id TEXT,
    fingerprint TEXT NOT NULL,
    document TEXT NOT NULL,
    document_sha256 TEXT NOT NULL,
    decided_at BIGINT NOT NULL,
    repeated_at BIGINT,
    repeats INTEGER NOT NULL DEFAULT 0
  )`,
  'CREATE INDEX decisions_set ON decisions (set_sha256, id)',
  `CREATE TABLE decision_updates (
    decision_id TEXT NOT NULL REFERENCES decisions (id) ON DELETE CASCADE,
    update_id TEXT NOT NULL REFERENCES updates (id) ON DELETE CASCADE,
    stopped INTEGER NOT NULL,
    PRIMARY KEY (update_id, decision_id)
  )`,
  'CREATE INDEX decision_updates_decision ON decision_updates (decision_id)',
  // The overview counts these without reading the rows.
  'CREATE INDEX decision_updates_stopped ON decision_updates (update_id) WHERE stopped = 1',

  `CREATE TABLE age_exceptions (
    id TEXT PRIMARY KEY,
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    deleted_at BIGINT,
    seal TEXT
  )`,
  'CREATE INDEX age_exceptions_package ON age_exceptions (ecosystem, name, version)',

  // What operators have set about the gate; a setting without a row has its default.
  `CREATE TABLE gate_settings (
    id TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    seal TEXT
  )`,

  // The progress of a bulk request, for the operator who sent it, and its answer for an hour.
  `CREATE TABLE bulk_runs (
    operator_id TEXT NOT NULL,
    progress_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
    done BIGINT NOT NULL,
    total BIGINT NOT NULL,
    approved BIGINT NOT NULL,
    blocked BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    answer TEXT,
    PRIMARY KEY (operator_id, progress_id)
  )`,
  'CREATE INDEX bulk_runs_updated ON bulk_runs (updated_at)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    decisions: {
      id: string;
      agent_id: string;
      /** Of its updates (`setDigest`). */
      set_sha256: string;
      plan_id: string | null;
      outcome: 'minted' | 'blocked' | 'handed_back';
      actor: string;
      token_id: string | null;
      fingerprint: string;
      document: string;
      document_sha256: string;
      decided_at: number;
      /** When the same decision was last repeated, and how often. */
      repeated_at: number | null;
      repeats: number;
    };
    /** `stopped`: the decision did not mint. */
    decision_updates: { decision_id: string; update_id: string; stopped: number };
    age_exceptions: {
      id: string;
      ecosystem: string;
      name: string;
      version: string;
      reason: string;
      created_by: string;
      created_at: number;
      expires_at: number;
      deleted_at: number | null;
      seal: SealColumn;
    };
    gate_settings: { id: string; value: string; changed_by: string; changed_at: number; seal: SealColumn };
    bulk_runs: {
      operator_id: string;
      progress_id: string;
      state: 'running' | 'done' | 'failed';
      done: number;
      total: number;
      approved: number;
      blocked: number;
      waiting: number;
      skipped: number;
      started_at: number;
      updated_at: number;
      /** JSON of the whole answer, once it is done. */
      answer: string | null;
    };
  }
}
