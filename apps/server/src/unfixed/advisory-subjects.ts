import { advisoryDetails } from '../advisories/finding-details.ts';
import { type RecordIds, vulnerabilitiesBy } from '../advisories/same-vulnerability.ts';
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

type Known = ReadonlyMap<string, { readonly mark: string | null; readonly of: RecordIds }>;

/** Remembers from one pass to the next which vulnerabilities advisories are about, and reads only changed records. */
export function createAdvisorySubjects() {
  let known: Known = new Map();
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
      const now = new Map<string, { mark: string | null; of: RecordIds }>();
      known = now;
      for (const some of chunks([...ids], READ_RECORDS)) {
        const marks = await readRecordMarks(db, some);
        const changed = new Set(some.filter((id) => before.get(id)?.mark !== (marks.get(id) ?? null)));
        const records = await readAdvisories(db, [...changed]);
        for (const id of some) {
          const kept = changed.has(id) ? null : before.get(id);
          const of = kept?.of ?? idsOf(id, records.get(id)?.record ?? null);
          now.set(id, { mark: marks.get(id) ?? null, of });
        }
        await takeTurn();
      }
      const vulnerabilityOf = vulnerabilityWithoutCve(now);
      const subjects = new Map<string, RecordSubjects>();
      const subjectsOf = (id: string): RecordSubjects => {
        const { cves, names } = now.get(id)?.of ?? { cves: [], names: [id] };
        return { cves, names, about: vulnerabilitiesOf(id, cves.length > 0 ? cves : [vulnerabilityOf(id)]) };
      };
      return {
        of: (id) => {
          const found = subjects.get(id) ?? subjectsOf(id);
          subjects.set(id, found);
          return found;
        },
        missing: now
          .entries()
          .flatMap(([id, { mark }]) => (mark === null ? [id] : []))
          .toArray(),
      };
    },
  };
}

function idsOf(id: string, record: string | null): RecordIds {
  const { cves, names } = advisoryDetails(id, record);
  return { cves, names };
}

/** The vulnerability of a record that names no CVE: that of the records that share an id with it. */
function vulnerabilityWithoutCve(known: Known): (record: string) => string {
  const without = new Set<string>();
  for (const [, { of }] of known) if (of.cves.length === 0) for (const name of of.names) without.add(name);
  // Of all records only few are compared.
  const some = [...known].flatMap(([id, { of }]): [string, RecordIds][] =>
    new Set(of.cves).size <= 1 && of.names.some((name) => without.has(name)) ? [[id, of]] : [],
  );
  return vulnerabilitiesBy(new Map(some));
}

export type AdvisorySubjects = ReturnType<typeof createAdvisorySubjects>;
