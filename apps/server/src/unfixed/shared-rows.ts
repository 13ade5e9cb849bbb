import { type RecordIds, vulnerabilitiesBy } from '../advisories/same-vulnerability.ts';
import type { Subject } from '../advisories/subjects.ts';
import { type Judgements, placeOf, placeOfKey } from './unfixed-rules.ts';

/** A row of the list that an earlier pass wrote. */
export interface KnownRow {
  /** The place of its package: see `placeOf`. */
  readonly place: string;
  /** The record whose row it is. */
  readonly record: string;
  readonly firstSeenMs: number;
  /** Whether an operator noted a mitigation. */
  readonly isNoted: boolean;
}

/** A row that a record counts in. */
export interface RowName {
  /** The record whose id the row has. */
  readonly record: string;
  /** The CVEs that the row is about. */
  readonly cves: readonly string[];
}

export type RowsOf = (subject: Subject, record: string) => readonly RowName[];

/**
 * The rows of the list that each record counts in, so that each vulnerability of a package has one row. Records about the same
 * vulnerability share a row: a noted one first, then the oldest, so that times and notes stay. An advisory about several
 * CVEs counts in the rows of those that another record is about, and has a row for the rest. A record whose own row has
 * a note keeps it.
 */
export function rowsByRecord(from: {
  readonly judgements: Judgements;
  readonly idsOf: (record: string) => RecordIds;
  readonly known: readonly KnownRow[];
}): RowsOf {
  const { judgements, idsOf } = from;
  const recordsAt = new Map<string, Set<string>>();
  for (const [key, { ids }] of judgements) {
    if (ids.length === 0) continue;
    const place = placeOfKey(key);
    const records = recordsAt.get(place) ?? new Set();
    recordsAt.set(place, records);
    for (const id of ids) records.add(id);
  }
  const knownAt = Map.groupBy(from.known, ({ place }) => place);
  const rows = new Map<string, ReadonlyMap<string, readonly RowName[]>>();
  return ({ ecosystem, name }, record) => {
    const place = placeOf(ecosystem, name);
    const found =
      rows.get(place) ??
      rowsAt({ judged: recordsAt.get(place) ?? new Set(), known: knownAt.get(place) ?? [], idsOf });
    rows.set(place, found);
    return found.get(record) ?? [{ record, cves: distinctCves(idsOf(record)) }];
  };
}

/** The rows of one package, by record. */
function rowsAt(of: {
  judged: ReadonlySet<string>;
  known: readonly KnownRow[];
  idsOf: (record: string) => RecordIds;
}): Map<string, readonly RowName[]> {
  const { judged, known, idsOf } = of;
  const knownRows = new Map(known.map((row) => [row.record, row]));
  const records = [...new Set([...judged, ...knownRows.keys()])].sort();
  const ids = new Map(records.map((record) => [record, idsOf(record)]));
  const isOfOne = (record: string) => distinctCves(ids.get(record) ?? NO_IDS).length <= 1;
  const vulnerabilityOf = vulnerabilitiesBy(ids);
  const rank = (vulnerability: string) => (a: string, b: string) =>
    Number(knownRows.get(b)?.isNoted ?? false) - Number(knownRows.get(a)?.isNoted ?? false) ||
    (knownRows.get(a)?.firstSeenMs ?? Infinity) - (knownRows.get(b)?.firstSeenMs ?? Infinity) ||
    Number(b === vulnerability) - Number(a === vulnerability);
  /** By vulnerability, where a judged record is about it alone. */
  const shared = new Map<string, RowName>();
  const rows = new Map<string, readonly RowName[]>();
  for (const [vulnerability, some] of Map.groupBy(records.filter(isOfOne), vulnerabilityOf)) {
    const [first] = some.toSorted(rank(vulnerability));
    if (first === undefined || !some.some((record) => judged.has(record))) continue;
    const cves = [...new Set(some.flatMap((record) => distinctCves(ids.get(record) ?? NO_IDS)))];
    shared.set(vulnerability, { record: first, cves });
    for (const record of some) {
      const isOwn = knownRows.get(record)?.isNoted ?? false;
      rows.set(record, [{ record: isOwn ? record : first, cves }]);
    }
  }
  for (const record of records.filter((one) => !isOfOne(one))) {
    const cves = distinctCves(ids.get(record) ?? NO_IDS);
    const others = cves.filter((cve) => !shared.has(cve));
    const isOwn = others.length > 0 || (knownRows.get(record)?.isNoted ?? false);
    rows.set(record, [
      ...cves.flatMap((cve) => shared.get(cve) ?? []),
      ...(isOwn ? [{ record, cves: others.length > 0 ? others : cves }] : []),
    ]);
  }
  return rows;
}

const NO_IDS: RecordIds = { cves: [], names: [] };

function distinctCves({ cves }: RecordIds): string[] {
  return [...new Set(cves)];
}
