/** The relation of a presented token to its family (docs/protocol/states.md). */
export type TokenClass =
  | 'current'
  | 'previous'
  | 'previous_used'
  | 'displaced'
  | 'old'
  | 'future'
  | 'expired'
  | 'unknown';

export interface TokenFacts {
  /** Which of the family's hashes matches the token. */
  match: 'current' | 'previous' | 'displaced' | 'none';
  /** Whether the tag proves that this server made the token. */
  genuine: boolean;
  seq: number;
  currentSeq: number;
  graceUsed: boolean;
  /** When the token was issued; null unless it is the current or the previous one. */
  issuedAtMs: number | null;
  lifetimeMs: number;
  nowMs: number;
}

/** Classes a token of a known family. A token without a matching hash counts only if its tag is genuine. */
export function classOf(facts: TokenFacts): TokenClass {
  const expired = facts.issuedAtMs !== null && facts.nowMs >= facts.issuedAtMs + facts.lifetimeMs;
  switch (facts.match) {
    case 'current':
      return expired ? 'expired' : 'current';
    case 'previous':
      if (expired) return 'expired';
      return facts.graceUsed ? 'previous_used' : 'previous';
    case 'displaced':
      return 'displaced';
    case 'none':
      if (!facts.genuine) return 'unknown';
      // Every token of the present seq has a known hash: an unknown one was issued after the database's state.
      return facts.seq < facts.currentSeq ? 'old' : 'future';
  }
}

/** Facts about a renewal whose token names a family of this server. */
export interface RenewalFacts {
  family: 'active' | 'revoked';
  /** `unbound`: none is recorded, and the request names one. `missing`: the request names none, or no valid one. */
  machine: 'matches' | 'unbound' | 'differs' | 'missing';
  agent: 'active' | 'revoked' | 'deleted';
  /** The family has reached the maximum age; never, unless an operator sets one. */
  isPastMaxAge: boolean;
  token: TokenClass;
  /** The request has the id of the last rotation, whose child can still be returned again. */
  sameRequest: boolean;
  /** An operator has opened the bounded resync after a restore (docs/protocol/states.md). */
  resyncOpen: boolean;
}

/** Kinds of reuse that end a family (section 3), as named in its row and event. */
const REUSES = ['grace_exhausted', 'displaced', 'superseded', 'ahead_of_database'] as const;
export type Reuse = (typeof REUSES)[number];

export function isReuse(reason: string): reason is Reuse {
  return REUSES.some((reuse) => reuse === reason);
}

export type RenewalVerdict =
  | { do: 'rotate'; bind: boolean }
  | { do: 'grace'; child: 'same' | 'new'; bind: boolean }
  | { do: 'resync'; bind: boolean }
  | { do: 'mismatch' }
  | { do: 'refuse'; why: 'unknown_token' | 'family_revoked' | 'agent_gone' | 'family_expired' | 'expired' }
  | { do: 'revoke'; why: Reuse };

/**
 * Decides a renewal (E1; specification, section 3): the first row that matches wins. The limit and unknown families are
 * checked before, and a database fault is no decision. The machine comes before reuse: another machine changes nothing.
 */
export function decideRenewal(facts: RenewalFacts): RenewalVerdict {
  if (facts.token === 'unknown') return { do: 'refuse', why: 'unknown_token' };
  if (facts.family === 'revoked') return { do: 'refuse', why: 'family_revoked' };
  // Reading 7: a missing X-Machine-ID is a mismatch, for an unbound agent too.
  if (facts.machine === 'differs' || facts.machine === 'missing') return { do: 'mismatch' };
  if (facts.agent !== 'active') return { do: 'refuse', why: 'agent_gone' };
  // Like an expired token: nothing presented for an aged family is reuse, because none of it works any more.
  if (facts.isPastMaxAge) return { do: 'refuse', why: 'family_expired' };
  const bind = facts.machine === 'unbound';
  switch (facts.token) {
    case 'expired':
      return { do: 'refuse', why: 'expired' };
    case 'current':
      return { do: 'rotate', bind };
    case 'previous':
      return { do: 'grace', child: facts.sameRequest ? 'same' : 'new', bind };
    case 'previous_used':
      return { do: 'revoke', why: 'grace_exhausted' };
    case 'displaced':
      return { do: 'revoke', why: 'displaced' };
    case 'old':
      return { do: 'revoke', why: 'superseded' };
    case 'future':
      return facts.resyncOpen ? { do: 'resync', bind } : { do: 'revoke', why: 'ahead_of_database' };
  }
}
