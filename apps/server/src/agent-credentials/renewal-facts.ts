import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { MachineId } from '../platform/http/identities.ts';
import {
  hashRefreshToken,
  isGenuine,
  type PresentedToken,
  REFRESH_TOKEN_LIFETIME_MS,
  sameHash,
} from './refresh-tokens.ts';
import { classOf, type RenewalFacts, type TokenClass, type TokenFacts } from './renewal-rules.ts';
import type { FamilyRow } from './store.ts';

/** Classifies a presented token within its family. */
export function classOfPresented(
  family: FamilyRow,
  { token, tagKey, nowMs }: { token: PresentedToken; tagKey: Buffer; nowMs: number },
): TokenClass {
  return classOf({
    ...matchOf(family, hashRefreshToken(token.text)),
    genuine: isGenuine(tagKey, token),
    seq: token.seq,
    currentSeq: family.cur_seq,
    graceUsed: family.prev_grace_used === 1,
    lifetimeMs: REFRESH_TOKEN_LIFETIME_MS,
    nowMs,
  });
}

export function machineOf(recorded: string | null, presented: MachineId | null): RenewalFacts['machine'] {
  if (presented === null) return 'missing';
  if (recorded === null) return 'unbound';
  return recorded === presented ? 'matches' : 'differs';
}

/** Whether a request has the id of the last rotation: then its reply was lost, and it asks for the same child. */
export function isSameRequest(family: FamilyRow, requestId: string | null): boolean {
  return requestId !== null && sameHash(hashRequestId(requestId), family.request_id_hash);
}

export function hashRequestId(requestId: string): string {
  return createHash('sha256').update(requestId).digest('hex');
}

const Hashes = Compile(Type.Array(Type.String()));

function matchOf(family: FamilyRow, hash: string): Pick<TokenFacts, 'match' | 'issuedAtMs'> {
  if (sameHash(hash, family.cur_hash)) return { match: 'current', issuedAtMs: family.cur_issued_at };
  if (sameHash(hash, family.prev_hash)) return { match: 'previous', issuedAtMs: family.prev_issued_at };
  const displaced: unknown = JSON.parse(family.displaced_hashes);
  if (!Hashes.Check(displaced)) throw new Error('displaced_hashes is not a list of strings');
  const isDisplaced = displaced.some((one) => sameHash(hash, one));
  return { match: isDisplaced ? 'displaced' : 'none', issuedAtMs: null };
}
