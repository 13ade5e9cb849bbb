import type { Db } from '../platform/db/engine.ts';
import { type ArtifactIdentity, algorithmOf, identityKey } from './identity-rules.ts';
import { countingSightings, type SightingRow } from './sighting-store.ts';

/** What counting hosts report of one artifact: each hash with its sightings, ordered by the first. */
export type Claims = Map<string, SightingRow[]>;
export type Ledger = Map<string, Claims>;

export async function readLedger(db: Db, identities: readonly ArtifactIdentity[]): Promise<Ledger> {
  const ledger: Ledger = new Map(identities.map((identity) => [identityKey(identity), new Map()]));
  for await (const rows of countingSightings(db, identities)) {
    for (const row of rows) {
      const claims = ledger.get(identityKey({ ...row, algorithm: algorithmOf(row) }));
      if (!claims) continue;
      const told = claims.get(row.hash);
      if (told) told.push(row);
      else claims.set(row.hash, [row]);
    }
  }
  return ledger;
}

/** The hash that most hosts report, the first of equals; null when nobody reports any. */
export function leadingHash(claims: Claims): string | null {
  let leading: string | null = null;
  for (const [hash, rows] of claims) {
    if (leading === null || rows.length > (claims.get(leading)?.length ?? 0)) leading = hash;
  }
  return leading;
}
