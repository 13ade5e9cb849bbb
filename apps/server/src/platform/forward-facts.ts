import type { Tx } from './db/engine.ts';

/** Something that was revoked for good: a restored backup must not bring it back (T20). */
export interface Revocation {
  kind: 'family' | 'agent' | 'deleted_agent' | 'key' | 'api_token' | 'deleted_operator';
  id: string;
  atMs: number;
  /** Of a family: why, in the word that its row bears. */
  reason?: string;
}

/** What a transaction changed that has to be kept outside of the database too. */
export interface ForwardFacts {
  revocations: readonly Revocation[];
  /** Whether the fleet has a new key set. */
  keySet: boolean;
}

interface Noted {
  revocations: Revocation[];
  keySet: boolean;
}

const notes = new WeakMap<Tx, Noted>();

/** The store that revokes says so here, in the same transaction; who commits it keeps the journal. */
export function noteRevocation(tx: Tx, revocation: Revocation): void {
  notedOf(tx).revocations.push(revocation);
}

export function noteKeySet(tx: Tx): void {
  notedOf(tx).keySet = true;
}

/** Hands out what was noted in a transaction and forgets it: transactions may come one after the other on one object. */
export function takeForwardFacts(tx: Tx): ForwardFacts {
  const noted = notes.get(tx);
  notes.delete(tx);
  return noted ?? { revocations: [], keySet: false };
}

function notedOf(tx: Tx): Noted {
  const noted = notes.get(tx) ?? { revocations: [], keySet: false };
  notes.set(tx, noted);
  return noted;
}
