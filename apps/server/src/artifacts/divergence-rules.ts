import type { HashAlgorithm } from '@tidegate/protocol/artifacts-api';

/** An artifact of a plan whose hash is not established; no update that binds it passes the gate. */
export interface BoundDivergence {
  /** Null when the plan's host is, or was, set aside, and nobody else reports the hash. */
  readonly divergenceId: string | null;
  readonly package: string;
  readonly version: string;
  readonly algorithm: HashAlgorithm;
  readonly hash: string;
}

/** Splits the hashes by a decision; null when the accepted hash is of another kind. */
export function decidedHashes(
  hashes: readonly string[],
  { accept, algorithm }: { accept: string; algorithm: HashAlgorithm },
): { accepted: string[]; refused: string[] } | null {
  if (accept === 'all') return { accepted: hashes.toSorted(), refused: [] };
  if (accept.length !== (algorithm === 'sha256' ? 64 : 128)) return null;
  return { accepted: [accept], refused: hashes.filter((hash) => hash !== accept).toSorted() };
}
