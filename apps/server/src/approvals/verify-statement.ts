import { DecisionStatement, STATEMENT_TYPE } from '@tidegate/protocol/decisions-api';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type TrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Compile } from 'typebox/compile';

const statements = Compile(DecisionStatement);

export type VerifiedStatement =
  | { readonly ok: true; readonly statement: DecisionStatement; readonly keyId: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Verifies a statement of a decision by the given keys alone, without the server. A key that was revoked later still
 * vouches for what it signed before.
 */
export function verifyStatement(
  envelope: unknown,
  { keys, revokedAtMs }: { keys: readonly TrustedKey[]; revokedAtMs: ReadonlyMap<string, number> },
): VerifiedStatement {
  const verified = verifyEnvelope(envelope, keys, STATEMENT_TYPE);
  if (!verified.ok) return { ok: false, reason: verified.reason };
  const payload = parseStrictJson(verified.payload);
  if (!payload.ok || !statements.Check(payload.value)) {
    return { ok: false, reason: 'the payload is not a statement of a decision' };
  }
  const statement = payload.value;
  const revoked = revokedAtMs.get(verified.keyId);
  if (revoked !== undefined && Date.parse(statement.predicate.signed_at) >= revoked) {
    return { ok: false, reason: 'its key was revoked before it signed' };
  }
  return { ok: true, statement, keyId: verified.keyId };
}
