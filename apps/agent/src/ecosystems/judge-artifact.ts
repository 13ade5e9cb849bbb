import { createHash, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Artifact } from '@tidegate/protocol/plan';

export type ArtifactFault = 'artifact_not_a_file' | 'artifact_size_differs' | 'artifact_hash_differs';
export type ArtifactVerdict = { ok: true } | { ok: false; reason: ArtifactFault; detail: string };

const CHUNK_BYTES = 1024 * 1024;
/** O_NONBLOCK: opening a planted pipe would block forever. */
export const READ_UNFOLLOWED = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Re-reads a staged file and compares it with the size and every hash in the token. */
export function judgeArtifact(artifact: Artifact, path: string): ArtifactVerdict {
  const name = JSON.stringify(artifact.filename);
  const file = openSync(path, READ_UNFOLLOWED);
  try {
    if (!fstatSync(file).isFile()) return refuse('artifact_not_a_file', `${name} is not a regular file`);
    const { size } = fstatSync(file);
    if (size !== artifact.size_bytes) {
      return refuse(
        'artifact_size_differs',
        `${name} does not have the approved ${artifact.size_bytes} bytes`,
      );
    }
    const hashes = { sha256: createHash('sha256'), sha512: createHash('sha512') };
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let count = fill(file, chunk); count > 0; count = fill(file, chunk)) {
      hashes.sha256.update(chunk.subarray(0, count));
      hashes.sha512.update(chunk.subarray(0, count));
    }
    const judged = [
      isDigest(artifact.sha256, hashes.sha256.digest()),
      isDigest(artifact.sha512, hashes.sha512.digest()),
    ].filter((verdict) => verdict !== null);
    // Every digest in the token must match, and there must be at least one.
    if (judged.length > 0 && judged.every((verdict) => verdict)) return { ok: true };
    return refuse('artifact_hash_differs', `${name} is not the file that was approved`);
  } finally {
    closeSync(file);
  }
}

/** Size and SHA-256 of a regular file; null where there is none at this path. */
export function sha256OfFile(path: string): { size_bytes: number; sha256: string } | null {
  let file: number;
  try {
    file = openSync(path, READ_UNFOLLOWED);
  } catch {
    return null;
  }
  try {
    if (!fstatSync(file).isFile()) return null;
    const hash = createHash('sha256');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let bytes = 0;
    for (let count = fill(file, chunk); count > 0; count = fill(file, chunk)) {
      hash.update(chunk.subarray(0, count));
      bytes += count;
    }
    return { size_bytes: bytes, sha256: hash.digest('hex') };
  } finally {
    closeSync(file);
  }
}

function isDigest(expectedHex: string | undefined, actual: Buffer): boolean | null {
  if (expectedHex === undefined) return null;
  const expected = Buffer.from(expectedHex, 'hex');
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

function refuse(reason: ArtifactFault, detail: string): ArtifactVerdict {
  return { ok: false, reason, detail };
}

function fill(file: number, chunk: Buffer): number {
  return readSync(file, chunk, 0, chunk.length, null);
}
