import { isFresh } from '../advisories/freshness.ts';
import { baseOf } from '../advisories/mirror/snapshot.ts';
import { type Subject, subjectKey } from '../advisories/subjects.ts';
import {
  deleteUnusedChecks,
  markChecksUnused,
  markChecksUsed,
  newestChecks,
  pageOfUses,
  type UseOfCheck,
} from '../advisories/unused-checks-store.ts';
import type { Config } from '../config.ts';
import type { TidyTask } from '../outsiders/upkeep.ts';
import type { Db } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { createPace } from '../platform/turns.ts';
import { linkedSubjects } from '../vulnerability-index/write-store.ts';

/** Checks of one turn. */
const PAGE = 400;
/**
 * For so long nobody has asked again about what is too old. Everything in use is asked about within minutes of that: installed
 * packages, versions that updates bring, and the packages of their plans.
 */
export const UNUSED_CHECK_MS = 24 * 3_600_000;

/**
 * Deletes answers about versions that nothing uses any more. A host that reports other versions each day makes the server keep
 * what it had lately, and no more.
 *
 * Never deleted is an answer that decisions may rest on, so that nothing is asked about again because of this; a vulnerability of a
 * package that a host has, or that its history names; and anything while the sources do not answer for its ecosystem, since what
 * is in use looks unused then.
 */
export function tidyChecks(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  { advisoryMaxAgeHours }: Pick<Config, 'advisoryMaxAgeHours'>,
): TidyTask {
  return {
    what: 'answers about package versions',
    async run(isStopped) {
      const at = {
        nowMs: await retentionTime({ database, now }),
        maxAgeMs: advisoryMaxAgeHours * 3_600_000,
      };
      const answering = await answeringNow(database.read, at);
      const pace = createPace();
      let removed = 0;
      for (let after: Subject = { ecosystem: '', name: '', version: '' }; !isStopped(); ) {
        const page = await pageOfUses(database.read, { after, limit: PAGE });
        const last = page.at(-1);
        if (!last) break;
        after = last;
        const old = page.filter((one) => answering.has(baseOf(one.ecosystem)) && !isFreshUse(one, at));
        const linked = await linkedSubjects(
          database.read,
          old.filter(({ hasFindings }) => hasFindings).map(subjectKey),
        );
        const unused = new Set(old.filter((one) => !linked.has(subjectKey(one))));
        const isMarked = ({ unusedSinceMs }: UseOfCheck) =>
          unusedSinceMs !== null && unusedSinceMs <= at.nowMs;
        const used = page.filter((one) => !unused.has(one) && one.unusedSinceMs !== null);
        const fresh = [...unused].filter((one) => !isMarked(one));
        const marked = [...unused].filter(isMarked);
        if (used.length + fresh.length + marked.length > 0)
          removed += await database.transact(async (tx) => {
            await markChecksUsed(tx, used);
            await markChecksUnused(tx, fresh, at.nowMs);
            return deleteUnusedChecks(tx, { subjects: marked, beforeMs: at.nowMs - UNUSED_CHECK_MS });
          });
        await pace();
      }
      return removed;
    },
  };
}

/** The ecosystems, such as Debian, of which some answer is fresh: the sources can be asked about them. */
async function answeringNow(db: Db, at: { nowMs: number; maxAgeMs: number }): Promise<ReadonlySet<string>> {
  const newest = await newestChecks(db, at.nowMs);
  const isNow = ({ atMs }: { atMs: number }) => isFresh({ reason: null, checkedAtMs: atMs }, at);
  return new Set(newest.filter(isNow).map(({ ecosystem }) => baseOf(ecosystem)));
}

function isFreshUse({ checkedAtMs }: UseOfCheck, at: { nowMs: number; maxAgeMs: number }): boolean {
  return isFresh({ reason: null, checkedAtMs }, at);
}
