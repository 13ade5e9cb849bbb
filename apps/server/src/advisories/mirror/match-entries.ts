import { prepareRecord } from '@tidegate/versions';
import type { Subject } from '../subjects.ts';
import { parseEntryJson } from './parse-entry.ts';
import type { EntryOf } from './store.ts';

/** Entries that are kept ready to be matched; the least recently used go first. */
export const COMPILED_MAX = 60_000;

export interface Match {
  /** Ids of the advisories that affect the version, sorted. */
  readonly ids: readonly string[];
  /** Whether there is one of which it cannot be said. */
  readonly undecidable: boolean;
}

export interface Matcher {
  /** What the entries of a package, of whatever release, say about one version of it on a host of `ecosystem`. */
  match(subject: Subject, entries: readonly EntryOf[]): Match;
  /** How many entries are kept ready. */
  size(): number;
}

interface Compiled {
  readonly ranges: string;
  readonly versions: string;
  readonly affects: ReturnType<typeof prepareRecord>;
}

/**
 * Matches with memory: versions and events of an entry are read once. What is kept is known by its text too, so that an
 * entry which has changed since is never taken for what it was.
 */
export function createMatcher({ most = COMPILED_MAX } = {}): Matcher {
  const kept = new Map<string, Compiled>();

  function compiled({ ecosystem, name }: Subject, entry: EntryOf): Compiled['affects'] {
    const key = `${ecosystem}\n${entry.id}\n${entry.part}\n${name}`;
    const known = kept.get(key);
    if (known && known.ranges === entry.ranges_json && known.versions === entry.versions_json) {
      kept.delete(key);
      kept.set(key, known);
      return known.affects;
    }
    const affected = [
      {
        package: { ecosystem: entry.eco, name: entry.name },
        ranges: parseEntryJson(entry.ranges_json),
        versions: parseEntryJson(entry.versions_json),
      },
    ];
    const affects = prepareRecord({ affected }, { ecosystem, name });
    kept.set(key, { ranges: entry.ranges_json, versions: entry.versions_json, affects });
    if (kept.size > most) {
      for (const oldest of kept.keys()) {
        kept.delete(oldest);
        break;
      }
    }
    return affects;
  }

  return {
    match(subject, entries) {
      const ids = new Set<string>();
      let undecidable = false;
      for (const entry of entries) {
        const verdict = compiled(subject, entry)(subject.version);
        if (verdict === 'affected') ids.add(entry.id);
        else if (verdict === 'undecidable') undecidable = true;
      }
      return { ids: [...ids].toSorted(), undecidable };
    },
    size: () => kept.size,
  };
}
