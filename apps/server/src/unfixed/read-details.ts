import { readExploited, readFetchedAt } from '../advisories/exploited/store.ts';
import { type AdvisoryDetails, advisoryDetails } from '../advisories/finding-details.ts';
import { readAdvisories } from '../advisories/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { exploitedOf } from './unfixed-rules.ts';

export interface Of {
  readonly details: AdvisoryDetails;
  readonly exploited: 1 | 0 | null;
}

/** What is stored of these vulnerabilities. */
export async function detailsOf(db: Db, ids: readonly string[]): Promise<Map<string, Of>> {
  const distinct = [...new Set(ids)];
  const records = await readAdvisories(db, distinct);
  const details: [string, AdvisoryDetails][] = [];
  for (const id of distinct) {
    await takeTurn();
    details.push([id, advisoryDetails(id, records.get(id)?.record ?? null)]);
  }
  const exploited = await readExploited(
    db,
    details.flatMap(([, { cves }]) => cves),
  );
  const isListKnown = (await readFetchedAt(db, 'kev')) !== null;
  return new Map(
    details.map(([id, one]) => {
      const isListed = one.cves.some((cve) => exploited.get(cve)?.kev === true);
      const isRecordKnown = one.record !== null;
      const known = exploitedOf({ cves: one.cves, isListed, isListKnown, isRecordKnown });
      return [id, { details: one, exploited: known }];
    }),
  );
}
