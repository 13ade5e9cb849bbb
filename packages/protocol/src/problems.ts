import { type Static, Type } from 'typebox';

/** Every error code of the wire with its status (docs/protocol/errors.md). */
export const PROBLEM_STATUS = {
  invalid_request: 400,
  override_reason_required: 400,
  unauthenticated: 401,
  second_factor_required: 401,
  access_token_invalid: 401,
  access_token_expired: 401,
  refresh_token_invalid: 401,
  registration_token_invalid: 401,
  unauthorized: 403,
  MACHINE_ID_MISMATCH: 403,
  forbidden: 403,
  step_up_required: 403,
  second_factor_missing: 403,
  not_found: 404,
  method_not_allowed: 405,
  approval_blocked: 409,
  plan_required: 409,
  conflict: 409,
  machine_already_registered: 409,
  machine_in_another_group: 409,
  binding_pending: 409,
  plan_drift: 409,
  command_finished: 409,
  whole_report_required: 409,
  payload_too_large: 413,
  inventory_too_large: 413,
  unsupported_media_type: 415,
  agent_too_old: 426,
  rate_limited: 429,
  host_budget_spent: 429,
  unavailable: 503,
  verdict_pending: 503,
} as const;

export type ProblemCode = keyof typeof PROBLEM_STATUS;
export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** RFC 9457 problem details, with the members every code has. */
export const Problem = Type.Object({
  type: Type.Literal('about:blank'),
  title: Type.String(),
  status: Type.Integer(),
  code: Type.String(),
  detail: Type.String(),
  request_id: Type.String(),
  errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
});
export type Problem = Static<typeof Problem>;
