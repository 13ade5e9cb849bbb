import { Envelope } from '@tidegate/protocol/documents';
import { strict } from '@tidegate/protocol/scalars';
import { decodeBase64 } from '@tidegate/signing/base64';
import { verifyEnvelope } from '@tidegate/signing/verify';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { TrustedKeySet } from '../identity/config-file.ts';
import { hasPassed } from '../platform/clock.ts';
import { activeKeys } from './trusted-keys.ts';

/** The checks that every signed document has before its content, in order. */
export type EnvelopeFault =
  | 'malformed_envelope'
  | 'wrong_type'
  | 'unsigned'
  | 'bad_signature'
  | 'expired_keys';

export type Opened =
  | { ok: true; payload: Uint8Array; keyId: string; envelope: Envelope }
  | { ok: false; reason: EnvelopeFault };

const UnsignedEnvelope = strict({ ...Envelope.properties, signatures: Type.Tuple([]) });

/**
 * Opens a document of one type. Keys are trusted until their set expires: a host that is denied the newer set,
 * which may revoke one of them, must not trust it forever (T12).
 */
export function openEnvelope(
  value: unknown,
  { trusted, payloadType, nowMs }: { trusted: TrustedKeySet; payloadType: string; nowMs: number },
): Opened {
  const isUnsigned = Check(UnsignedEnvelope, value);
  if (!isUnsigned && !Check(Envelope, value)) return { ok: false, reason: 'malformed_envelope' };
  if (value.payloadType !== payloadType) return { ok: false, reason: 'wrong_type' };
  if (isUnsigned) return { ok: false, reason: 'unsigned' };
  const verified = verifyEnvelope(value, activeKeys(trusted), payloadType);
  if (!verified.ok) {
    const isUnread = verified.reason === 'malformed' || verified.reason === 'too_large';
    return { ok: false, reason: isUnread ? 'malformed_envelope' : 'bad_signature' };
  }
  if (hasPassed(trusted.expires_at, nowMs)) return { ok: false, reason: 'expired_keys' };
  return { ok: true, payload: verified.payload, keyId: verified.keyId, envelope: value };
}

/** The payload of an envelope that nobody signed, for an agent that is not strict; null where there is none. */
export function payloadOfUnsigned(value: unknown): Uint8Array | null {
  return Check(UnsignedEnvelope, value) ? decodeBase64(value.payload) : null;
}
