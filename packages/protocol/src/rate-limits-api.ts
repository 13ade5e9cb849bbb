import { type Static, Type } from 'typebox';
import { strict, Timestamp } from './scalars.ts';

/** Bounds of a budget (docs/protocol/limits.md). */
export const REQUESTS_MAX = 100_000;
export const WINDOW_MAX_SECONDS = 86_400;

export const LimitBudget = strict({
  requests: Type.Integer({ minimum: 1, maximum: REQUESTS_MAX }),
  window_seconds: Type.Integer({ minimum: 1, maximum: WINDOW_MAX_SECONDS }),
  enabled: Type.Boolean(),
});
export type LimitBudget = Static<typeof LimitBudget>;

/** Every class optional, and every field within a class: what is left out stays as it is. */
export const LimitChange = Type.Partial(LimitBudget, { additionalProperties: false });
export type LimitChange = Static<typeof LimitChange>;

function classes<T extends Parameters<typeof Type.Optional>[0]>(budget: T) {
  return {
    agent_registration: budget,
    agent_renewal: budget,
    agent_checkin: budget,
    agent_reports: budget,
    admin_operations: budget,
    approvals: budget,
    admin_reads: budget,
    public_access: budget,
    login: budget,
    client_errors: budget,
    fleet_lock: budget,
  };
}

export const RateLimits = strict({
  classes: strict(classes(LimitBudget)),
  startup_penalty: strict({ active: Type.Boolean(), ends_at: Timestamp }),
});
export type RateLimits = Static<typeof RateLimits>;

export const RateLimitsChange = strict({ classes: strict(classes(Type.Optional(LimitChange))) });
export type RateLimitsChange = Static<typeof RateLimitsChange>;
