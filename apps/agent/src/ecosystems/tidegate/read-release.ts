import {
  loadReleaseKey,
  type ReleaseFiles,
  SIGNATURE_FILE,
  SUMS_FILE,
  verifyRelease,
} from '@tidegate/signing/release';
import { KeyError, type TrustedKey } from '@tidegate/signing/verify';
import { readTrusted } from '../../platform/file-layer.ts';
import type { OwnPlaces } from '../ecosystem.ts';

const KEY_MAX_BYTES = 4_096;

export type KeyOutcome = { ok: true; key: TrustedKey } | { ok: false; detail: string };

/** The release key that root has put on this host. */
export function readReleaseKey({
  releaseKey: path,
  ownerUid,
}: Pick<OwnPlaces, 'releaseKey' | 'ownerUid'>): KeyOutcome {
  const read = readTrusted(path, { maxBytes: KEY_MAX_BYTES, ownerUid, forbiddenMode: 0o022 });
  if (!read.ok) return { ok: false, detail: `the release key cannot be used: ${read.detail}` };
  try {
    return { ok: true, key: loadReleaseKey(Buffer.from(read.bytes).toString('latin1')) };
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return {
      ok: false,
      detail: `${path} cannot be used (${error.code}); allowed: one Ed25519 public key in PEM`,
    };
  }
}

/** The files of a release, if the release key signed them. The proof may come from anybody. */
export function readRelease(
  key: TrustedKey,
  proof: { sums: Uint8Array; signature: Uint8Array },
): { ok: true; files: ReleaseFiles } | { ok: false; detail: string } {
  const verified = verifyRelease(key, proof);
  if (verified.ok) return verified;
  switch (verified.reason) {
    case 'bad_signature':
      return {
        ok: false,
        detail: `${SIGNATURE_FILE} is no signature of ${SUMS_FILE} by the release key of this host, ${key.publicKeyHex}`,
      };
    case 'malformed':
      return { ok: false, detail: `${SUMS_FILE} is signed, but it is no list of sha256sum` };
  }
}
