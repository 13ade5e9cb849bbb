import { type AdvisoryDetails, fixedIn } from '../advisories/finding-details.ts';
import { subjectKey } from '../advisories/subjects.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { detailsOf, type Of } from '../unfixed/read-details.ts';
import type { Vulnerable } from '../unfixed/unfixed-rules.ts';

/** Records of one query: some are long, and reading them holds the loop. */
const RECORDS_AT_ONCE = 20;

/** What is stored of a vulnerability, as far as a document tells it: without its record. */
export interface RecordFacts {
  readonly names: AdvisoryDetails['names'];
  readonly isMalicious: boolean;
  readonly exploited: Of['exploited'];
  /** The lowest version that fixes it in this package. */
  readonly fix: string | null;
}

/** Reads each record once for all hosts, and keeps what their packages need of it. */
export function createRecordFacts(db: Db, nowMs: number) {
  const known = new Map<string, RecordFacts>();
  return {
    of: (one: Vulnerable) => known.get(keyOf(one)),
    async read(vulnerable: readonly Vulnerable[]): Promise<void> {
      const unread = new Map(
        vulnerable.filter((one) => !known.has(keyOf(one))).map((one) => [keyOf(one), one]),
      );
      const byId = Map.groupBy(unread.values(), ({ id }) => id);
      for (const some of chunks([...byId], RECORDS_AT_ONCE)) {
        await takeTurn();
        const records = await detailsOf(
          db,
          some.map(([id]) => id),
          nowMs,
        );
        for (const [id, ones] of some) {
          const of = records.get(id);
          if (!of) continue;
          const { names, malicious: isMalicious, record } = of.details;
          for (const one of ones) {
            await takeTurn();
            const fix = fixedIn(record, one.installed.ecosystem, one.subject);
            known.set(keyOf(one), { names, isMalicious, exploited: of.exploited, fix });
          }
        }
      }
    },
  };
}

function keyOf({ subject, id }: Vulnerable): string {
  return `${subjectKey(subject)}\n${id}`;
}
