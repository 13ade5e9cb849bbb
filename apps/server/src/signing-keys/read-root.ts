import { createHash } from 'node:crypto';
import type { Envelope } from '@tidegate/protocol/documents';
import { Envelope as EnvelopeSchema } from '@tidegate/protocol/documents';
import { ROOT_TYPE, RootPayload } from '@tidegate/protocol/root-document';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import {
  KeyError,
  loadTrustedKey,
  signersOf,
  type TrustedKey,
  verifyEnvelope,
} from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import type { RootRow } from './store.ts';

/** A root document with a valid form, signed by a threshold of its own keys. */
export interface Root {
  payload: RootPayload;
  sha256: string;
  envelope: Envelope;
  keys: readonly TrustedKey[];
}

export type RootFault = 'malformed' | 'threshold_too_high' | 'weak_key' | 'not_enough_signatures';
export type ReadRoot =
  | { ok: true; root: Root }
  | { ok: false; fault: RootFault; signed: number; threshold: number };

/** Reads a root document. Its own keys prove only its form: another signature must prove that it is ours. */
export function readRoot(envelope: unknown): ReadRoot {
  const payload = claimedRoot(envelope);
  if (payload === null || !Value.Check(EnvelopeSchema, envelope)) return fault('malformed');
  if (payload.threshold > payload.keys.length) return fault('threshold_too_high');
  const keys = soundKeys(payload.keys);
  if (keys === null) return fault('weak_key');
  const signers = signersOf(envelope, keys, ROOT_TYPE);
  if (signers.length < payload.threshold) {
    const { threshold } = payload;
    return { ok: false, fault: 'not_enough_signatures', signed: signers.length, threshold };
  }
  // The verified bytes are the parsed bytes: the verifier accepts only one base64 spelling.
  const verified = verifyEnvelope(envelope, signers, ROOT_TYPE);
  if (!verified.ok) return fault('malformed');
  const read = parseStrictJson(verified.payload);
  if (!read.ok || !Value.Check(RootPayload, read.value)) return fault('malformed');
  const sha256 = createHash('sha256').update(verified.payload).digest('hex');
  return { ok: true, root: { payload: read.value, sha256, envelope, keys } };
}

/** How many of the root's keys signed this document, each counted once. */
export function rootSigners(root: Root, envelope: unknown, payloadType: string): TrustedKey[] {
  return signersOf(envelope, root.keys, payloadType);
}

/**
 * The stored root that the key set names. A row that no vouched key set names is ignored (T6).
 */
export function namedRoot(
  rows: readonly RootRow[],
  named: { version: number; sha256: string } | null,
): Root | null {
  const row = rows.find(({ version }) => version === named?.version);
  const envelope = row && parseStrictJson(row.envelope);
  const read = envelope?.ok ? readRoot(envelope.value) : null;
  return read?.ok && read.root.sha256 === named?.sha256 ? read.root : null;
}

/** The claims of an envelope, signed or not. */
export function claimedRoot(envelope: unknown): RootPayload | null {
  if (typeof envelope !== 'object' || envelope === null || !('payload' in envelope)) return null;
  if (typeof envelope.payload !== 'string') return null;
  const parsed = parseStrictJson(Buffer.from(envelope.payload, 'base64'));
  return parsed.ok && Value.Check(RootPayload, parsed.value) ? parsed.value : null;
}

function soundKeys(publicKeys: readonly string[]): TrustedKey[] | null {
  try {
    return publicKeys.map((publicKeyHex) => loadTrustedKey({ keyId: publicKeyHex, publicKeyHex }));
  } catch (error) {
    if (error instanceof KeyError) return null;
    throw error;
  }
}

function fault(reason: RootFault): ReadRoot {
  return { ok: false, fault: reason, signed: 0, threshold: 0 };
}
