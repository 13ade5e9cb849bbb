import type { Tables } from './tables.ts';

/**
 * What a transaction writes beside its rows. `transact` makes one for each attempt and drops it with the
 * attempt: what a failed attempt left in it is never written.
 */
export interface WriteContext {
  /** In the order in which they were appended; the step before the commit chains them. */
  readonly events: UnchainedEvent[];
  /** Whether the step before the commit stored events without their place in the chain. */
  hasKeptEvents: boolean;
  /** The revocation journal holds them before the commit. */
  readonly revocations: Revocation[];
  /** Whether the fleet has a new key set; the data folder gets it after the commit. */
  hasNewKeySet: boolean;
}

/** An event without its place in the hash chain. */
export type UnchainedEvent = Omit<Tables['events'], 'position' | 'previous_hash' | 'hash'>;

/** Something that was revoked for good: a restored backup must not bring it back (T20). */
export interface Revocation {
  kind: 'family' | 'agent' | 'deleted_agent' | 'key' | 'api_token' | 'deleted_operator';
  id: string;
  atMs: number;
  /** The reason in the row of a family. */
  reason?: string;
}

export function emptyContext(): WriteContext {
  return { events: [], hasKeptEvents: false, revocations: [], hasNewKeySet: false };
}
