import { type Static, Type } from 'typebox';
import { nullable, strict, Timestamp, Uuid } from './scalars.ts';

/** What can be wrong with a host, the most urgent first. */
export const HOST_FAULT_KINDS = [
  'clone_suspected',
  'revoked',
  'credentials_ended',
  'other_machine',
  'unbound',
  'never_seen',
  'offline',
  'packages_broken',
  'transaction_interrupted',
  'space_insufficient',
  'packages_locked',
  'agent_too_old',
  'clock_wrong',
  'probes_red',
  'command_failed',
  'packages_unknown',
  'packages_incomplete',
  'lists_stale',
  'reboot_needed',
  'services_restart',
] as const;
const HostFaultKind = Type.Enum(HOST_FAULT_KINDS);
export type HostFaultKind = Static<typeof HostFaultKind>;

/** What mends it, as the console and the API offer it. */
const HostFaultMend = Type.Enum([
  'decide_clone',
  'enrol',
  'rebind',
  'see_events',
  'repair',
  'see_condition',
  'update_agent',
  'see_probes',
  'see_command',
  'scan',
  'see_restarts',
]);
export type HostFaultMend = Static<typeof HostFaultMend>;

export const HostFault = strict({
  kind: HostFaultKind,
  /** Null: the server does not know. */
  since: nullable(Timestamp),
  /** Nothing can be installed, or somebody may misuse the host's identity. */
  urgent: Type.Boolean(),
  text: Type.String(),
  /** What it means, or what to do on the host. */
  why: Type.String(),
  /** Null: only the host's own administrator can mend it. */
  mend: nullable(HostFaultMend),
  /** The command that failed. */
  command_id: nullable(Uuid),
});
export type HostFault = Static<typeof HostFault>;

/** Nothing is wrong where there are none. */
export const HostFaults = strict({ as_of: Timestamp, items: Type.Array(HostFault) });
export type HostFaults = Static<typeof HostFaults>;
