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

/** The root that a key set names: its document is believed by this digest alone where no root is known yet. */
export interface NamedRoot {
  fleetId: string;
  version: number;
  sha256: string;
}

export type RootRefusal = 'root_missing' | 'root_not_vouched_for' | 'root_behind' | 'root_changed';
export type RootOutcome = { ok: true; root: TrustedRoot } | { ok: false; reason: RootRefusal };

/**
 * Brings the root that this host knows to the one that a key set names: one version after the other, each signed by a
 * threshold of the keys before it and of its own. A host that knows none takes the document that the named digest is of,
 * so the caller must have verified who named it.
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

/** A root document that a threshold of its own keys signed, so that no root is taken that nobody can use. */
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

/** What a document says of itself, unverified: only good for trying its own keys on it. */
function claimedRoot(document: unknown): RootPayload | null {
  if (typeof document !== 'object' || document === null || !('payload' in document)) return null;
  if (typeof document.payload !== 'string') return null;
  const parsed = parseStrictJson(Buffer.from(document.payload, 'base64'));
  return parsed.ok && Check(RootPayload, parsed.value) ? parsed.value : null;
}

/** A weak key counts for nobody: what is left may not reach the threshold. */
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
