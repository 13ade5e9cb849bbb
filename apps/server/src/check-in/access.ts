import type { AgentAccess } from '../platform/http/access.ts';

/** A check-in binds an unbound agent and tells an outdated one to update, so it refuses neither. */
export const CHECK_IN_ACCESS: AgentAccess = { limit: 'agent_checkin', bind: true, old: true };
