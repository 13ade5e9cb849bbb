import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { Envelope } from '@tidegate/protocol/documents';

/** A part of a folder ends before it is longer than this, unless one line is: what a writer or reader holds, in bytes. */
export const PART_BYTES = 2 * 1024 * 1024;
/** What a writer hashes and hands over at once, unless a line is longer. */
export const PIECE_BYTES = 128 * 1024;
/** Of a file, and so of a line: an approval has at most 4 MiB, and its results stand beside it. */
export const FILE_MAX_BYTES = 8 * 1024 * 1024;
/** Files with those that have the digests of their lines. */
export const FILES_MAX = 24_000;
/** Bytes of a manifest, which is signed as one payload. */
export const MANIFEST_MAX_BYTES = 4 * 1024 * 1024;
/** In base64, with its signature. */
export const MANIFEST_FILE_MAX_BYTES = 6 * 1024 * 1024;
/** Hex digits of a line's hash, which find a changed line; what proves it is the hash of its file. */
const LINE_DIGITS = 8;

/** The one text of a signed manifest, so that none of its bytes can be another. */
export function manifestBytes({ payload, payloadType, signatures }: Envelope): Buffer {
  const [signature] = signatures;
  const { keyid = '', sig = '' } = signature ?? {};
  return Buffer.from(canonicalJson({ payload, payloadType, signatures: [{ keyid, sig }] }));
}

export function lineDigest(line: Uint8Array): string {
  return createHash('sha256').update(line).digest('hex').slice(0, LINE_DIGITS);
}
