import { readKevList, readListed } from '../advisories/exploited/store.ts';
import { type AdvisoryDetails, advisoryDetails } from '../advisories/finding-details.ts';
import { readAdvisories } from '../advisories/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { exploitedOf } from './unfixed-rules.ts';

export interface Of {
  readonly details: AdvisoryDetails;
  readonly exploited: 1 | 0 | null;
}

export interface Facts {
  readonly details: ReadonlyMap<string, AdvisoryDetails>;
  readonly isListed: (cve: string) => boolean;
  readonly isListKnown: boolean;
}

/** What is stored of these records, and what is known of the exploitation of their CVEs. */
export async function readFacts(db: Db, ids: readonly string[], nowMs: number): Promise<Facts> {
  const distinct = [...new Set(ids)];
  const records = await readAdvisories(db, distinct);
  const details = new Map<string, AdvisoryDetails>();
  for (const id of distinct) {
    await takeTurn();
    details.set(id, advisoryDetails(id, records.get(id)?.record ?? null));
  }
  const listed = await readListed(
    db,
    [...details.values()].flatMap(({ cves }) => cves),
  );
  const isListed = (cve: string) => listed.has(cve);
  return { details, isListed, isListKnown: (await readKevList(db, nowMs)).saysNo };
}

/** The same of each record alone. */
export async function detailsOf(db: Db, ids: readonly string[], nowMs: number): Promise<Map<string, Of>> {
  const { details, isListed, isListKnown } = await readFacts(db, ids, nowMs);
  return new Map(
    [...details].map(([id, one]) => {
      const isRecordKnown = one.record !== null;
      const known = exploitedOf({
        ...{ cves: one.cves, isListed: one.cves.some(isListed), isListKnown, isRecordKnown },
      });
      return [id, { details: one, exploited: known }];
    }),
  );
}
