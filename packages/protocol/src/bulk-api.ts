import { type Static, Type } from 'typebox';
import { Count, strict, Timestamp, Uuid } from './scalars.ts';

/** How far a bulk request is, by the `progress_id` that its sender chose. Kept for an hour after its end. */
export const BulkProgress = strict({
  progress_id: Uuid,
  /** `failed`: it ended early, or its server died in the middle; what it had approved stays approved. */
  state: Type.Enum(['running', 'done', 'failed']),
  done: Count,
  total: Count,
  approved: Count,
  blocked: Count,
  /** Updates that wait for their plan. */
  waiting: Count,
  skipped: Count,
  started_at: Timestamp,
  updated_at: Timestamp,
});
export type BulkProgress = Static<typeof BulkProgress>;
