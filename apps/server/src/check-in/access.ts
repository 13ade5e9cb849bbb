import type { AgentAccess } from '../platform/http/access.ts';

/** A check-in binds an agent that is not bound yet, and an agent that is too old learns there that it is. */
export const CHECK_IN_ACCESS: AgentAccess = { limit: 'agent_checkin', bind: true, old: true };
