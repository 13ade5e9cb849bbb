import { advisoryDetails } from '../advisories/finding-details.ts';
import type { RecordIds } from '../advisories/same-vulnerability.ts';
import { readAdvisories, readRecordMarks } from '../advisories/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { type Judgements, vulnerabilitiesOf } from './unfixed-rules.ts';

const READ_RECORDS = 200;

export interface RecordSubjects extends RecordIds {
  /** The vulnerabilities that it counts for in the index. */
  readonly about: readonly string[];
}

/** Remembers from one pass to the next which vulnerabilities advisories are about, and reads only changed records. */
export function createAdvisorySubjects() {
  let known = new Map<string, { mark: string | null; of: RecordSubjects }>();
  return {
    /** Of all that is judged, and of `more` records. `missing` are judged, but their records are not stored. */
    async read(
      db: Db,
      judgements: Judgements,
      more: Iterable<string> = [],
    ): Promise<{ of: (advisory: string) => RecordSubjects; missing: string[] }> {
      const ids = new Set<string>(more);
      for (const judgement of judgements.values()) for (const id of judgement.ids) ids.add(id);
      const before = known;
      known = new Map();
      for (const some of chunks([...ids], READ_RECORDS)) {
        const marks = await readRecordMarks(db, some);
        const changed = new Set(some.filter((id) => before.get(id)?.mark !== (marks.get(id) ?? null)));
        const records = await readAdvisories(db, [...changed]);
        for (const id of some) {
          const kept = changed.has(id) ? null : before.get(id);
          const of = kept?.of ?? subjectsOf(id, records.get(id)?.record ?? null);
          known.set(id, { mark: marks.get(id) ?? null, of });
        }
        await takeTurn();
      }
      return {
        of: (id) => known.get(id)?.of ?? { cves: [], names: [id], about: [id] },
        missing: known
          .entries()
          .flatMap(([id, { mark }]) => (mark === null ? [id] : []))
          .toArray(),
      };
    },
  };
}

function subjectsOf(id: string, record: string | null): RecordSubjects {
  const { cves, names } = advisoryDetails(id, record);
  return { cves, names, about: vulnerabilitiesOf(id, cves) };
}

export type AdvisorySubjects = ReturnType<typeof createAdvisorySubjects>;
