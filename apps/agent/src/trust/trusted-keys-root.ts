import { createHash } from 'node:crypto';
import { ROOT_TYPE, RootPayload } from '@tidegate/protocol/root-document';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import {
  KeyError,
  loadTrustedKey,
  signersOf,
  type TrustedKey,
  verifyEnvelope,
} from '@tidegate/signing/verify';
import { Check } from 'typebox/value';
import type { TrustedRoot } from '../identity/config-file.ts';

/** The root named by a key set: without a known root, this digest alone authenticates its document. */
export interface NamedRoot {
  fleetId: string;
  version: number;
  sha256: string;
}

export type RootRefusal = 'root_missing' | 'root_not_vouched_for' | 'root_behind' | 'root_changed';
export type RootOutcome = { ok: true; root: TrustedRoot } | { ok: false; reason: RootRefusal };

/**
 * Advances the known root to the one named by a key set: version by version, each signed by a threshold of the
 * previous and of its own keys. A host without a root accepts the document with the named digest, so the caller
 * must have verified the key set.
 */
export function followRoot(
  known: TrustedRoot | null,
  named: NamedRoot,
  documents: readonly unknown[],
): RootOutcome {
  if (known === null) return learnRoot(named, documents);
  if (named.version < known.version) return { ok: false, reason: 'root_behind' };
  let root = known;
  while (root.version < named.version) {
    const next = successorOf(root, named.fleetId, documents);
    if (!next.ok) return next;
    root = next.root;
  }
  return root.sha256 === named.sha256 ? { ok: true, root } : { ok: false, reason: 'root_changed' };
}

/** Whether a threshold of distinct root keys signed this document. */
export function bearsThreshold(root: TrustedRoot, envelope: unknown, payloadType: string): boolean {
  return signersOf(envelope, usableKeys(root.keys), payloadType).length >= root.threshold;
}

function learnRoot(named: NamedRoot, documents: readonly unknown[]): RootOutcome {
  for (const document of documents) {
    const read = readRoot(document);
    if (read === null || read.root.sha256 !== named.sha256) continue;
    if (read.root.version !== named.version || read.fleetId !== named.fleetId) continue;
    return { ok: true, root: read.root };
  }
  return { ok: false, reason: 'root_missing' };
}

function successorOf(known: TrustedRoot, fleetId: string, documents: readonly unknown[]): RootOutcome {
  let reason: RootRefusal = 'root_missing';
  for (const document of documents) {
    const read = readRoot(document);
    if (read === null || read.root.version !== known.version + 1 || read.fleetId !== fleetId) continue;
    if (bearsThreshold(known, document, ROOT_TYPE)) return { ok: true, root: read.root };
    reason = 'root_not_vouched_for';
  }
  return { ok: false, reason };
}

/** A root document signed by a threshold of its own keys, which proves that the root is usable. */
function readRoot(document: unknown): { root: TrustedRoot; fleetId: string } | null {
  const claimed = claimedRoot(document);
  if (claimed === null) return null;
  const signers = signersOf(document, usableKeys(claimed.keys), ROOT_TYPE);
  const verified = verifyEnvelope(document, signers, ROOT_TYPE);
  if (!verified.ok) return null;
  const parsed = parseStrictJson(verified.payload);
  if (!parsed.ok || !Check(RootPayload, parsed.value)) return null;
  const { fleet_id, version, threshold, keys } = parsed.value;
  if (signers.length < threshold) return null;
  const sha256 = createHash('sha256').update(verified.payload).digest('hex');
  return { root: { version, sha256, threshold, keys }, fleetId: fleet_id };
}

/** The unverified content: use it only to select the keys to verify with. */
function claimedRoot(document: unknown): RootPayload | null {
  if (typeof document !== 'object' || document === null || !('payload' in document)) return null;
  if (typeof document.payload !== 'string') return null;
  const parsed = parseStrictJson(Buffer.from(document.payload, 'base64'));
  return parsed.ok && Check(RootPayload, parsed.value) ? parsed.value : null;
}

/** Weak keys do not count: the rest may miss the threshold. */
function usableKeys(keys: readonly string[]): TrustedKey[] {
  return keys.flatMap((publicKeyHex) => {
    try {
      return [loadTrustedKey({ keyId: publicKeyHex, publicKeyHex })];
    } catch (error) {
      if (error instanceof KeyError) return [];
      throw error;
    }
  });
}
