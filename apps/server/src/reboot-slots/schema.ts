import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  // A group without a row has the limits of `DEFAULT_LIMITS`. The row is also what a transaction locks to count slots.
  `CREATE TABLE reboot_groups (
    group_name TEXT PRIMARY KEY,
    max_at_once INTEGER NOT NULL,
    min_healthy INTEGER NOT NULL,
    halt_after INTEGER NOT NULL,
    changed_by TEXT,
    changed_at BIGINT
  )`,
  // Hosts that are down or may go down at any moment, and those of which nobody knows whether they came back. A slot is of
  // an enrolled host, for one command and one boot, or of a FleetLock client, of which the server knows its name alone.
  `CREATE TABLE reboot_slots (
    id TEXT PRIMARY KEY,
    group_name TEXT NOT NULL,
    agent_id TEXT REFERENCES agents (id),
    command_id TEXT,
    boot_id TEXT,
    client_id TEXT,
    state TEXT NOT NULL CHECK (state IN ('held', 'proving', 'failed', 'ended')),
    taken_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    back_at BIGINT,
    outcome TEXT CHECK (outcome IN ('well', 'not_rebooted', 'released')),
    detail TEXT,
    ended_at BIGINT,
    ended_by TEXT,
    CHECK (
      (client_id IS NULL AND agent_id IS NOT NULL AND command_id IS NOT NULL AND boot_id IS NOT NULL)
      OR (client_id IS NOT NULL AND agent_id IS NULL AND command_id IS NULL AND boot_id IS NULL)
    )
  )`,
  // A host has one slot at most, in whatever group it is by now.
  'CREATE UNIQUE INDEX reboot_slots_host ON reboot_slots (agent_id) WHERE ended_at IS NULL',
  // A client is known by its name within its group: another group may have one of the same name.
  'CREATE UNIQUE INDEX reboot_slots_client ON reboot_slots (group_name, client_id) WHERE ended_at IS NULL',
  'CREATE INDEX reboot_slots_group ON reboot_slots (group_name) WHERE ended_at IS NULL',
  'CREATE INDEX reboot_slots_command ON reboot_slots (command_id)',
  'CREATE INDEX reboot_slots_ended ON reboot_slots (ended_at) WHERE ended_at IS NOT NULL',
  'CREATE INDEX reboot_slots_agent ON reboot_slots (agent_id, ended_at)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    reboot_groups: {
      /** Empty: the hosts of no group. */
      group_name: string;
      max_at_once: number;
      min_healthy: number;
      halt_after: number;
      changed_by: string | null;
      changed_at: number | null;
    };
    reboot_slots: {
      id: string;
      /** The group in which it counts, wherever the host moves meanwhile. */
      group_name: string;
      /** Null, with the two below: of a FleetLock client. */
      agent_id: string | null;
      command_id: string | null;
      /** The boot that the command ends. */
      boot_id: string | null;
      /** As the FleetLock client calls itself; null: of an enrolled host. */
      client_id: string | null;
      state: 'held' | 'proving' | 'failed' | 'ended';
      taken_at: number;
      ends_at: number;
      /** While `proving`: a look at the probes counts from then. */
      back_at: number | null;
      outcome: 'well' | 'not_rebooted' | 'released' | null;
      detail: string | null;
      ended_at: number | null;
      ended_by: string | null;
    };
  }
}
