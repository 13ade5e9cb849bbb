import { type Static, Type } from 'typebox';
import { strict } from './scalars.ts';

export const DATABASE_CHECKS = ['ok', 'down'] as const;
export const ADVISORY_CHECKS = ['ok', 'loading', 'stale', 'missing', 'unreachable', 'off'] as const;
export type AdvisoryCheck = (typeof ADVISORY_CHECKS)[number];

/**
 * E6. `degraded` where the database is down, or advisories are too old, cannot be fetched, or are missing for an ecosystem
 * of the fleet.
 */
export const Health = strict({
  status: Type.Enum(['ok', 'degraded']),
  version: Type.String(),
  uptime_seconds: Type.Integer({ minimum: 0 }),
  checks: strict({ database: Type.Enum(DATABASE_CHECKS), advisories: Type.Enum(ADVISORY_CHECKS) }),
});
export type Health = Static<typeof Health>;

/** Answered where requests may be sent to; 503 otherwise. */
export const Ready = strict({ status: Type.Literal('ready') });
export type Ready = Static<typeof Ready>;
