import { advisoryDetails } from '../advisories/finding-details.ts';
import { readAdvisories, readRecordMarks } from '../advisories/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import type { Judgements } from './unfixed-rules.ts';
import { vulnerabilitiesOf } from './unfixed-rules.ts';

const READ_RECORDS = 200;

/** Remembers from one pass to the next which vulnerabilities advisories are about, and reads only changed records. */
export function createAdvisorySubjects() {
  let known = new Map<string, { mark: string | null; about: readonly string[] }>();
  return {
    async read(db: Db, judgements: Judgements): Promise<(advisory: string) => readonly string[]> {
      const ids = new Set<string>();
      for (const judgement of judgements.values()) for (const id of judgement.ids) ids.add(id);
      const before = known;
      known = new Map();
      for (const some of chunks([...ids], READ_RECORDS)) {
        const marks = await readRecordMarks(db, some);
        const changed = new Set(some.filter((id) => before.get(id)?.mark !== (marks.get(id) ?? null)));
        const records = await readAdvisories(db, [...changed]);
        for (const id of some) {
          const kept = changed.has(id) ? null : before.get(id);
          const about =
            kept?.about ?? vulnerabilitiesOf(id, advisoryDetails(id, records.get(id)?.record ?? null).cves);
          known.set(id, { mark: marks.get(id) ?? null, about });
        }
        await takeTurn();
      }
      return (id) => known.get(id)?.about ?? [id];
    },
  };
}

export type AdvisorySubjects = ReturnType<typeof createAdvisorySubjects>;
