import type { RebootKind, RebootState } from '@tidegate/protocol/reboots-api';
import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // The queue: one row for each host and request. From a row the server makes a command, so it is sealed (0058).
  `CREATE TABLE host_reboots (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    kind TEXT NOT NULL CHECK (kind IN ('reboot', 'restart_services')),
    boot_id TEXT NOT NULL,
    units TEXT,
    warn_minutes INTEGER NOT NULL,
    reason TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'rebooted', 'done', 'failed', 'cancelled', 'expired')),
    not_before BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    command_id TEXT,
    offered_at BIGINT,
    cancelled_by TEXT,
    blockers TEXT,
    outcomes TEXT,
    detail TEXT,
    new_boot_id TEXT,
    ended_at BIGINT,
    seal TEXT
  )`,
  'CREATE UNIQUE INDEX host_reboots_open ON host_reboots (agent_id, kind) WHERE ended_at IS NULL',
  'CREATE INDEX host_reboots_host ON host_reboots (agent_id, id)',
  'CREATE INDEX host_reboots_waiting ON host_reboots (asked_at, id) WHERE ended_at IS NULL AND command_id IS NULL',
  'CREATE INDEX host_reboots_offered ON host_reboots (id) WHERE ended_at IS NULL AND command_id IS NOT NULL',
  'CREATE INDEX host_reboots_deadline ON host_reboots (deadline_at) WHERE ended_at IS NULL AND command_id IS NULL',
  'CREATE INDEX host_reboots_ended ON host_reboots (ended_at) WHERE ended_at IS NOT NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    host_reboots: {
      id: string;
      agent_id: string;
      kind: RebootKind;
      /** The boot that is to end, or whose services are to be restarted. */
      boot_id: string;
      /** JSON; of a restart of services. */
      units: string | null;
      warn_minutes: number;
      reason: string;
      asked_by: string;
      asked_at: number;
      deadline_at: number;
      state: RebootState;
      not_before: number;
      attempts: number;
      /** The command of the attempt under way. */
      command_id: string | null;
      offered_at: number | null;
      /** Who asked for its end while the host had the command: its result decides. */
      cancelled_by: string | null;
      /** JSON of the last refusal. */
      blockers: string | null;
      /** JSON of what became of each service. */
      outcomes: string | null;
      detail: string | null;
      new_boot_id: string | null;
      ended_at: number | null;
      seal: SealColumn;
    };
  }
}
