import type { HashAlgorithm } from '@tidegate/protocol/artifacts-api';
import { identityKey, type Sighting } from './identity-rules.ts';

/** An artifact of a plan whose hash is in dispute or was refused; no update that binds it passes the gate. */
export interface BoundDivergence {
  readonly divergenceId: string;
  readonly package: string;
  readonly version: string;
  readonly algorithm: HashAlgorithm;
  readonly hash: string;
}

export type Standing = 'disputed' | 'accepted' | 'refused';

/** A divergence with what became of its hashes. */
export interface KnownDivergence {
  readonly id: string;
  readonly standings: ReadonlyMap<string, Standing>;
}

/**
 * What of a plan is blocked. Where an artifact diverges, a hash passes only when an operator accepted it: one that is
 * not even listed, because the list was full, does not.
 */
export function boundDivergences(
  sightings: readonly Sighting[],
  known: ReadonlyMap<string, KnownDivergence>,
): BoundDivergence[] {
  return sightings.flatMap((sighting) => {
    const divergence = known.get(identityKey(sighting));
    if (!divergence || divergence.standings.get(sighting.hash) === 'accepted') return [];
    const { name, version, algorithm, hash } = sighting;
    return [{ divergenceId: divergence.id, package: name, version, algorithm, hash }];
  });
}

/** What an operator's word makes of each hash; null where the accepted one is none of them. */
export function decidedStandings(
  hashes: readonly string[],
  accept: string,
): Map<string, Exclude<Standing, 'disputed'>> | null {
  if (accept !== 'all' && !hashes.includes(accept)) return null;
  return new Map(
    hashes.map((hash) => [hash, accept === 'all' || hash === accept ? 'accepted' : 'refused'] as const),
  );
}
