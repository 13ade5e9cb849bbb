import type { HashAlgorithm } from '@tidegate/protocol/artifacts-api';

/** An artifact of a plan whose hash does not stand; no update that binds it passes the gate. */
export interface BoundDivergence {
  /** Null where the host of the plan is, or was, set aside, and nobody else names the hash. */
  readonly divergenceId: string | null;
  readonly package: string;
  readonly version: string;
  readonly algorithm: HashAlgorithm;
  readonly hash: string;
}

/** What a decision makes of the hashes that it is about; null where the accepted one is of another kind. */
export function decidedHashes(
  hashes: readonly string[],
  { accept, algorithm }: { accept: string; algorithm: HashAlgorithm },
): { accepted: string[]; refused: string[] } | null {
  if (accept === 'all') return { accepted: hashes.toSorted(), refused: [] };
  if (accept.length !== (algorithm === 'sha256' ? 64 : 128)) return null;
  return { accepted: [accept], refused: hashes.filter((hash) => hash !== accept).toSorted() };
}
