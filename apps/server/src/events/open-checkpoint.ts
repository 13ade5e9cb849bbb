import { CHECKPOINT_TYPE, CheckpointPayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type TrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import type { Pin } from './verify-chain.ts';

/** Keys that may have signed a checkpoint: also revoked ones, for what they signed before. */
export interface CheckpointKeys {
  keys: readonly TrustedKey[];
  revokedAtMs: ReadonlyMap<string, number>;
}

export type OpenedCheckpoint = { ok: true; pin: Pin; createdAtMs: number } | { ok: false; detail: string };

/** Trusts a checkpoint that one of the keys signed before its revocation. `place` says where it was found. */
export function openCheckpoint(
  envelope: unknown,
  { trusted, place }: { trusted: CheckpointKeys; place: string },
): OpenedCheckpoint {
  const verified = verifyEnvelope(envelope, trusted.keys, CHECKPOINT_TYPE);
  if (!verified.ok) {
    return { ok: false, detail: `a checkpoint ${place} is signed by no known key (${verified.reason})` };
  }
  const parsed = parseStrictJson(verified.payload);
  if (!parsed.ok || !Value.Check(CheckpointPayload, parsed.value)) {
    return { ok: false, detail: `a checkpoint ${place} does not have the form of one` };
  }
  const { position, hash, epoch, created_at } = parsed.value;
  const createdAtMs = Date.parse(created_at);
  const revokedAtMs = trusted.revokedAtMs.get(verified.keyId);
  if (revokedAtMs !== undefined && createdAtMs > revokedAtMs) {
    return { ok: false, detail: `a checkpoint ${place} is signed by a key that had been revoked before` };
  }
  const source = `the checkpoint that was signed at ${created_at} and is kept ${place}`;
  return { ok: true, pin: { position, hash, epoch, source }, createdAtMs };
}
