import { type Static, Type } from 'typebox';

export const UPDATE_STATES = [
  'pending',
  'awaiting_plan',
  'approved',
  'installing',
  'installed',
  'failed',
  'rejected',
  'superseded',
] as const;
export const UpdateState = Type.Enum(UPDATE_STATES);
export type UpdateState = Static<typeof UpdateState>;
/** The states of an update that is neither installed nor closed. */
export const OPEN_STATES = ['pending', 'awaiting_plan', 'approved', 'installing', 'failed'] as const;

export const COMMAND_STATUSES = [
  'pending',
  'sent',
  'received',
  'running',
  'success',
  'failed',
  'refused',
  'interrupted',
  'expired',
  'cancelled',
] as const;
export const CommandStatus = Type.Enum(COMMAND_STATUSES);
export type CommandStatus = Static<typeof CommandStatus>;

export const COMMAND_ACTIONS = [
  'scan',
  'plan_update',
  'install_update',
  'repair',
  'reboot',
  'restart_services',
  'update_agent',
  'refresh_keys',
  'set_polling',
  'run_probes',
] as const;
export const CommandAction = Type.Enum(COMMAND_ACTIONS);
export type CommandAction = Static<typeof CommandAction>;

export const VERDICTS = ['clear', 'vulnerable', 'unchecked'] as const;
export const VulnerabilityVerdict = Type.Enum(VERDICTS);
export type VulnerabilityVerdict = Static<typeof VulnerabilityVerdict>;

/** Why packages could not be checked for known vulnerabilities. */
export const UncheckedReason = Type.Enum(['unreachable', 'undecidable', 'uncovered']);
export type UncheckedReason = Static<typeof UncheckedReason>;

export const ROLES = ['viewer', 'approver', 'admin'] as const;
export const Role = Type.Enum(ROLES);
export type Role = Static<typeof Role>;
