import { hash } from 'node:crypto';
import { prepareRecord } from '@tidegate/versions';
import type { Subject } from '../subjects.ts';
import { parseEntryJson } from './parse-entry.ts';
import type { EntryOf } from './store.ts';

/** Entries that are kept ready to be matched; the packages that nobody asked about for longest go first. */
export const KEPT_MAX = 150_000;

export interface Match {
  /** Ids of the advisories that affect the version, sorted. */
  readonly ids: readonly string[];
  /** Whether there is one of which it cannot be said. */
  readonly undecidable: boolean;
}

/** All that one snapshot knows of the packages of one name; versions and events are read once for many versions. */
export interface Group {
  match(subject: Subject): Match;
}

export interface Groups {
  /** The group of a name as the snapshot has it; null where it has to be read. */
  find(snapshot: string, name: string): Group | null;
  /** Keeps what was read. */
  put(snapshot: string, name: string, entries: readonly EntryOf[]): Group;
  /** How many entries are kept. */
  size(): number;
}

interface Kept extends Group {
  /** Of all that its entries say: one that has changed is never taken for what it was. */
  readonly sum: string;
  readonly entries: number;
  snapshot: string;
}

/** Memory for matching, in two halves: when the new one is full the old one, of which nothing was asked since, goes. */
export function createGroups({ most = KEPT_MAX } = {}): Groups {
  let fresh = new Map<string, Kept>();
  let old = new Map<string, Kept>();
  let freshSize = 0;
  let oldSize = 0;
  let texts = createTexts();

  function keep(name: string, group: Kept): void {
    if (freshSize + weight(group) > most / 2) {
      old = fresh;
      oldSize = freshSize;
      fresh = new Map();
      freshSize = 0;
      texts = createTexts();
    }
    fresh.set(name, group);
    freshSize += weight(group);
  }

  function remembered(name: string): Kept | undefined {
    const group = fresh.get(name);
    if (group) return group;
    const last = old.get(name);
    if (!last) return undefined;
    old.delete(name);
    oldSize -= weight(last);
    keep(name, last);
    return last;
  }

  return {
    find(snapshot, name) {
      const group = remembered(name);
      return group?.snapshot === snapshot ? group : null;
    },
    put(snapshot, name, entries) {
      const known = remembered(name);
      const sum = sumOf(entries);
      if (known?.sum === sum) {
        known.snapshot = snapshot;
        return known;
      }
      if (known) {
        fresh.delete(name);
        freshSize -= weight(known);
      }
      const group: Kept = {
        ...groupOf(entries.map(texts.shared), texts),
        sum,
        entries: entries.length,
        snapshot,
      };
      keep(name, group);
      return group;
    },
    size: () => freshSize + oldSize,
  };
}

function weight({ entries }: Kept): number {
  return Math.max(1, entries);
}

function sumOf(entries: readonly EntryOf[]): string {
  const texts = entries.flatMap((one) => [one.id, one.eco, one.name, one.ranges_json, one.versions_json]);
  // With their lengths, so that no text can pass for the end of one and the beginning of the next.
  return hash('sha256', texts.map((text) => `${text.length}:${text}`).join(''), 'base64');
}

/** Text that many entries have is kept and read once: the packages of one source are fixed in the same version. */
interface Texts {
  shared(entry: EntryOf): EntryOf;
  prepared(entry: EntryOf, of: { ecosystem: string; name: string }): Affects;
}

type Affects = ReturnType<typeof prepareRecord>;

/** Longer text is hardly ever the same twice. */
const SHARED_MAX_CHARS = 1_000;

function createTexts(): Texts {
  const texts = new Map<string, string>();
  const ready = new Map<string, Affects>();
  function text(one: string): string {
    if (one.length > SHARED_MAX_CHARS) return one;
    const known = texts.get(one);
    if (known === undefined) texts.set(one, one);
    return known ?? one;
  }
  return {
    shared: ({ id, eco, name, ranges_json: ranges, versions_json: versions }) => ({
      ...{ id: text(id), eco: text(eco), name: text(name) },
      ...{ ranges_json: text(ranges), versions_json: text(versions) },
    }),
    prepared(entry, of) {
      if (entry.ranges_json.length + entry.versions_json.length > SHARED_MAX_CHARS) return prepare(entry, of);
      const key = [of.ecosystem, entry.eco, entry.ranges_json, entry.versions_json].join('\n');
      const known = ready.get(key) ?? prepare(entry, of);
      ready.set(key, known);
      return known;
    },
  };
}

function groupOf(entries: readonly EntryOf[], texts: Texts): Group {
  const byHost = new Map<string, { id: string; affects: Affects }[]>();
  return {
    match({ ecosystem, name, version }) {
      let ready = byHost.get(ecosystem);
      if (!ready) {
        ready = entries.map((entry) => ({
          id: entry.id,
          affects: texts.prepared(entry, { ecosystem, name }),
        }));
        byHost.set(ecosystem, ready);
      }
      const ids: string[] = [];
      let undecidable = false;
      for (const { id, affects } of ready) {
        const verdict = affects(version);
        if (verdict === 'affected') ids.push(id);
        else if (verdict === 'undecidable') undecidable = true;
      }
      return { ids: [...new Set(ids)].sort(), undecidable };
    },
  };
}

function prepare(entry: EntryOf, of: { ecosystem: string; name: string }): Affects {
  const affected = [
    {
      // Entries are found by the name in its normal form, which is the same for all that share this text.
      package: { ecosystem: entry.eco, name: of.name },
      ranges: parseEntryJson(entry.ranges_json),
      versions: parseEntryJson(entry.versions_json),
    },
  ];
  return prepareRecord({ affected }, of);
}
