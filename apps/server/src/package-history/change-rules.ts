import type { PackageChangeKind } from '@tidegate/protocol/package-history-api';
import type { RecordedChange } from '../installed/changes-store.ts';
import type { PackageRecord } from '../installed/store.ts';

/** What one package manager says of a package. */
export interface PackageOf extends PackageRecord {
  readonly ecosystem: string;
}

/** A package that differs. */
export interface Difference {
  /** Of the last recorded change that it is made of. */
  readonly position: number;
  readonly changedAtMs: number;
  readonly ecosystem: string;
  readonly name: string;
  readonly arch: string;
  readonly kind: PackageChangeKind;
  readonly from: string | null;
  readonly to: string | null;
}

/** What there was of each package that changed, before these changes, which are in their order; null: it was not there. */
export function stateBefore(changes: readonly RecordedChange[]): Map<string, PackageOf | null> {
  const before = new Map<string, PackageOf | null>();
  for (const change of changes) {
    const key = packageKey(change);
    if (!before.has(key)) before.set(key, heldBefore(change));
  }
  return before;
}

/** The changes of each report, the newest first. */
export function changesByReport(changes: readonly RecordedChange[]): Difference[] {
  // One report has one time, whatever the number of its transactions.
  const reports = Map.groupBy(changes, ({ ecosystem, changed_at: at }) => `${at} ${ecosystem}`);
  return [...reports.values()].flatMap(netChanges).toSorted((a, b) => b.position - a.position);
}

/** What differs before and after some changes, which are in their order. */
export function netChanges(changes: readonly RecordedChange[]): Difference[] {
  const byPackage = Map.groupBy(changes, ({ ecosystem, name, arch }) =>
    JSON.stringify([ecosystem, name, arch]),
  );
  return [...byPackage.values()].flatMap(differencesOf);
}

interface VersionChange {
  readonly version: string;
  readonly before: PackageRecord | null;
  readonly after: PackageRecord | null;
  readonly last: RecordedChange;
}

/** Of one package, which may be there in several versions. */
function differencesOf(changes: readonly RecordedChange[]): Difference[] {
  const versions = [...Map.groupBy(changes, ({ version }) => version).values()].flatMap(
    (some): VersionChange[] => {
      const [first, last] = [some[0], some.at(-1)];
      return first && last
        ? [{ version: last.version, before: heldBefore(first), after: heldAfter(last), last }]
        : [];
    },
  );
  const stayed = versions.flatMap(({ version, before, after, last }) => {
    const kind = before && after ? kindOfSame(before, after) : null;
    return kind === null ? [] : [differenceOf(kind, last, { from: version, to: version })];
  });
  const gone = versions.filter(({ before, after }) => before !== null && after === null);
  const come = versions.filter(({ before, after }) => before === null && after !== null);
  const [from, to] = [gone[0], come[0]];
  if (from && to && gone.length === 1 && come.length === 1) {
    const last = from.last.position > to.last.position ? from.last : to.last;
    return [...stayed, differenceOf('changed', last, { from: from.version, to: to.version })];
  }
  return [
    ...stayed,
    ...gone.map(({ version, last }) => differenceOf('removed', last, { from: version, to: null })),
    ...come.map(({ version, last }) => differenceOf('installed', last, { from: null, to: version })),
  ];
}

function kindOfSame(before: PackageRecord, after: PackageRecord): PackageChangeKind | null {
  if (before.held !== after.held) return after.held === 1 ? 'held' : 'released';
  const isSame =
    before.origin === after.origin &&
    before.source_name === after.source_name &&
    before.source_version === after.source_version;
  return isSame ? null : 'described';
}

function differenceOf(
  kind: PackageChangeKind,
  { position, changed_at: changedAtMs, ecosystem, name, arch }: RecordedChange,
  versions: Pick<Difference, 'from' | 'to'>,
): Difference {
  return { position, changedAtMs, ecosystem, name, arch, kind, ...versions };
}

function heldBefore(change: RecordedChange): PackageOf | null {
  switch (change.change) {
    case 'added':
      return null;
    case 'removed':
      return change;
    case 'held':
      return { ...change, held: 1 - change.held };
  }
}

function heldAfter(change: RecordedChange): PackageOf | null {
  return change.change === 'removed' ? null : change;
}

/** A host has one package of an ecosystem, name, architecture and version. */
export function packageKey({ ecosystem, name, arch, version }: PackageOf): string {
  return JSON.stringify([ecosystem, name, arch, version]);
}
