/** Event types of the specification (section 6) and docs/protocol/events.md. */
export const SECURITY_EVENT_TYPES = [
  'MACHINE_ID_MISMATCH',
  'REFRESH_TOKEN_REUSE',
  'REFRESH_GRACE_USED',
  'REFRESH_RESYNC',
  'MACHINE_REBOUND',
  'MACHINE_BOUND',
  'AGENT_ENROLLED',
  'ENROLMENT_REFUSED',
  'AGENT_REVOKED',
  'HOST_GROUP_CHANGED',
  'COMMAND_REFUSED',
  'PLAN_DRIFT',
  'ARTIFACT_MISMATCH',
  'ARTIFACT_DIVERGENCE',
  'ARTIFACT_DIVERGENCE_DECIDED',
  'ARTIFACT_DIVERGENCE_UNDONE',
  'ARTIFACT_LEDGER_FLOOD',
  'ARTIFACT_HOST_TRUSTED',
  'CLONE_SUSPECTED',
  'CLONE_DISMISSED',
  'AGENT_ERROR',
  'SIGNING_KEY_ADDED',
  'SIGNING_KEY_REVOKED',
  'SIGNING_ROOT_CHANGED',
  'LOGIN_FAILED',
  'LOGIN_SUCCEEDED',
  'LOGINS_SLOWED',
  'SECOND_FACTOR_ASKED',
  'STEP_UP_FAILED',
  'STEP_UP_SUCCEEDED',
  'FACTOR_ADDED',
  'FACTOR_REMOVED',
  'FACTORS_RESET',
  'RECOVERY_CODE_USED',
  'PASSKEY_CLONE_SUSPECTED',
  'SESSION_REVOKED',
  'OPERATOR_CHANGED',
  'API_TOKEN_CREATED',
  'API_TOKEN_REVOKED',
  'REGISTRATION_TOKEN_CHANGED',
  'RATE_LIMITS_CHANGED',
  'OUTSIDER_BUDGET_SPENT',
  'RESTORE_DETECTED',
  'ROW_SEAL_BROKEN',
  'ROWS_SEALED',
] as const;
export type SecurityEventType = (typeof SECURITY_EVENT_TYPES)[number];

export const SYSTEM_EVENT_TYPES = [
  'supply_chain_override',
  'approval_blocked',
  'bulk_approval_blocked',
  'age_exception_added',
  'age_exception_ended',
  'vulnerability_policy_changed',
  'update_approved',
  'approval_countersigned',
  'update_installed',
  'update_failed',
  'agent_offline',
  'client_error',
  'advisories_stale',
  'advisories_replaced',
  'events_pruned',
  'shared_view_changed',
] as const;
export type SystemEventType = (typeof SYSTEM_EVENT_TYPES)[number];

/** The only types that an agent may report by itself. */
export const AGENT_EVENT_TYPES = [
  'COMMAND_REFUSED',
  'PLAN_DRIFT',
  'ARTIFACT_MISMATCH',
  'CLONE_SUSPECTED',
  'AGENT_ERROR',
] as const;
export type AgentEventType = (typeof AGENT_EVENT_TYPES)[number];

export const SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];
