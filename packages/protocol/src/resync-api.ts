import { type Static, Type } from 'typebox';
import { REASON_MAX_CHARS } from './approvals-api.ts';
import { Count, nullable, strict, Timestamp, Uuid } from './scalars.ts';

/** Longest time that a resync is open, in hours. */
export const RESYNC_MAX_HOURS = 72;

/** Opens the bounded resync after a restore. */
export const ResyncRequest = strict({
  hours: Type.Integer({ minimum: 1, maximum: RESYNC_MAX_HOURS }),
  reason: Type.String({ minLength: 1, maxLength: REASON_MAX_CHARS, pattern: '\\S' }),
});
export type ResyncRequest = Static<typeof ResyncRequest>;

/** The state after a restore, and the open resync. */
export const ResyncState = strict({
  epoch: Count,
  /** The newest restore that the server noticed; null where it never did. */
  restored: nullable(
    strict({ event_id: Uuid, at: Timestamp, details: Type.Record(Type.String(), Type.Unknown()) }),
  ),
  /** Hosts whose renewal may be ahead of the database: at most so many have to enrol again. */
  active_families: Count,
  resync: nullable(
    strict({
      id: Uuid,
      opened_at: Timestamp,
      closes_at: Timestamp,
      opened_by: Type.String(),
      reason: Type.String(),
      /** Families that it has resynced so far. */
      resynced: Count,
    }),
  ),
});
export type ResyncState = Static<typeof ResyncState>;
