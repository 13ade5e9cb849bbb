import { hash } from 'node:crypto';
import { prepareRecord } from '@tidegate/versions';
import type { Subject } from '../../subjects.ts';
import { type EntryOf, partsOf } from './entry-store.ts';
import { parseEntryJson } from './parse-entry.ts';

/** Entries kept ready for matching; the least recently used packages are dropped first. */
export const KEPT_MAX = 150_000;

export interface Match {
  /** Sorted ids of the advisories that affect the version. */
  readonly ids: readonly string[];
  /** Whether an advisory could not be decided. */
  readonly undecidable: boolean;
}

/** All that one snapshot has for one package name; versions and events are parsed once for many versions. */
export interface Group {
  match(subject: Subject): Match;
}

export interface Groups {
  /** A name's group in this snapshot; null when it has to be read first. */
  find(snapshot: string, name: string): Group | null;
  /** Caches entries that were read. */
  put(snapshot: string, name: string, entries: readonly EntryOf[]): Group;
  /** Number of cached entries. */
  size(): number;
}

interface Kept extends Group {
  /** In order, each with the statement at the same index. */
  readonly ids: readonly string[];
  readonly statements: readonly Statement[];
  snapshot: string;
}

/** Cache in two generations: when the new one is full, the old one, unused since, is dropped. */
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
      const group = groupOf(snapshot, entries, texts);
      if (known && isSame(known, group)) {
        known.snapshot = snapshot;
        return known;
      }
      if (known) {
        fresh.delete(name);
        freshSize -= weight(known);
      }
      keep(name, group);
      return group;
    },
    size: () => freshSize + oldSize,
  };
}

function weight({ ids }: Kept): number {
  return Math.max(1, ids.length);
}

/** Compares all that the entries say: a changed group is never mistaken for the old one. */
function isSame(a: Kept, b: Kept): boolean {
  if (a.ids.length !== b.ids.length) return false;
  return b.statements.every((statement, i) => {
    const other = a.statements[i];
    if (a.ids[i] !== b.ids[i] || other === undefined) return false;
    return other === statement || sumOf(other) === sumOf(statement);
  });
}

function groupOf(snapshot: string, entries: readonly EntryOf[], texts: Texts): Kept {
  if (entries.length === 0) return { ids: [], statements: [], match: () => NOTHING, snapshot };
  const sorted = entries.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
  const ids = sorted.map(({ id }) => texts.id(id));
  const statements = sorted.map(({ said }) => texts.statement(said));
  return { ids, statements, match: (subject) => matchAll(ids, statements, subject), snapshot };
}

const NOTHING: Match = { ids: [], undecidable: false };

function matchAll(ids: readonly string[], statements: readonly Statement[], subject: Subject): Match {
  const found: string[] = [];
  let undecidable = false;
  for (const [i, statement] of statements.entries()) {
    const verdict = affectsOf(statement, subject)(subject.version);
    const id = ids[i];
    if (verdict === 'undecidable') undecidable = true;
    // Entries of one advisory are adjacent.
    else if (verdict === 'affected' && id !== undefined && found.at(-1) !== id) found.push(id);
  }
  return { ids: found, undecidable };
}

/** A statement of advisories about a package, parsed; the packages of one source share it. */
interface Statement {
  readonly said: string;
  /** Digest of `said`, computed on demand. */
  sum: string | null;
  /** For hosts of the ecosystem that asked first, and for others. */
  first: { readonly host: string; readonly affects: Affects } | null;
  others: Map<string, Affects> | null;
}

type Affects = ReturnType<typeof prepareRecord>;

function sumOf(statement: Statement): string {
  statement.sum ??= hash('sha256', statement.said, 'base64');
  return statement.sum;
}

function affectsOf(statement: Statement, subject: Subject): Affects {
  const { first } = statement;
  if (first?.host === subject.ecosystem) return first.affects;
  if (first === null) {
    const affects = prepare(statement.said, subject);
    statement.first = { host: subject.ecosystem, affects };
    return affects;
  }
  statement.others ??= new Map();
  const known = statement.others.get(subject.ecosystem) ?? prepare(statement.said, subject);
  statement.others.set(subject.ecosystem, known);
  return known;
}

function prepare(said: string, { ecosystem, name }: Subject): Affects {
  const { eco, rangesJson, versionsJson } = partsOf(said);
  const affected = [
    {
      // The entry was found by the normalised name, which is the same for all packages that share this text.
      package: { ecosystem: eco, name },
      ranges: parseEntryJson(rangesJson),
      versions: parseEntryJson(versionsJson),
    },
  ];
  return prepareRecord({ affected }, { ecosystem, name });
}

/** Texts that many entries share are kept and parsed once. */
interface Texts {
  id(id: string): string;
  statement(said: string): Statement;
}

/** Longer texts hardly ever repeat. */
const SHARED_MAX_CHARS = 1_000;

function createTexts(): Texts {
  const ids = new Map<string, string>();
  const statements = new Map<string, Statement>();
  return {
    id(id) {
      const known = ids.get(id);
      if (known === undefined) ids.set(id, id);
      return known ?? id;
    },
    statement(said) {
      const known = statements.get(said);
      if (known) return known;
      const statement = { said, sum: null, first: null, others: null };
      if (said.length <= SHARED_MAX_CHARS) statements.set(said, statement);
      return statement;
    },
  };
}
