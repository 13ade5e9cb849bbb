import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { isWithdrawn, readAffected } from '@tidegate/versions/osv-record';
import { type Fields, isFields, isOfFleet, type NamedPackage, packageOf } from './record-packages.ts';
import { salvageRecord } from './salvage-record.ts';

/** Ids that join a record to others, and characters of what is shown of it. */
const JOINS_MAX = 100;
const TEXT_MAX_CHARS = 500;
const ID_MAX_CHARS = 256;

/** What matching uses of one member of `affected`, for one package of one ecosystem. */
export interface MirrorEntry extends NamedPackage {
  /** JSON of `ranges` and `versions`; `null` where they have another form than the schema's: undecidable. */
  readonly rangesJson: string;
  readonly versionsJson: string;
}

/** A record cut down to what decides (entries) and what is shown (`record`): never `details` or `references`. */
export interface MirrorRecord {
  readonly id: string;
  readonly modified: string;
  readonly modifiedMs: number;
  /** Empty where it was withdrawn, or speaks of no release of the fleet. */
  readonly entries: readonly MirrorEntry[];
  readonly record: string;
  /** Why it could not be read; its packages are then undecidable, never clear. */
  readonly fault: string | null;
  /** Whether `entries` name all packages that it speaks of; where they do not, no package at all is clear. */
  readonly isWhole: boolean;
}

/** `unreadable`: not even one of the packages that it speaks of can be told. */
export type ReadRecord = { readonly kind: 'record'; readonly record: MirrorRecord } | Unreadable;
export interface Unreadable {
  readonly kind: 'unreadable';
  readonly why: string;
}

/** Cuts a record of an export down for the releases of a fleet, such as `Debian:12`; null is all. Never throws. */
export function readMirrorRecord(
  bytes: Uint8Array,
  { id, releases }: { id: string; releases: readonly string[] | null },
): ReadRecord {
  const json = parseStrictJson(bytes);
  if (!json.ok) return salvage(bytes, { id, releases, why: json.reason });
  const value = json.value;
  if (!isFields(value)) return { kind: 'unreadable', why: 'is not an object' };
  if (value.id !== id || id.length > ID_MAX_CHARS) {
    // What the record of this name says is nowhere.
    return salvage(bytes, { id, releases, why: 'has another id than its name' });
  }
  const modified = textOf(value.modified, 64);
  const modifiedMs = Date.parse(modified);
  const isTaken = isWithdrawn(value);
  const affected = isTaken ? [] : readAffected(value);
  if (affected === null)
    return salvage(bytes, { id, releases, why: 'affects something that cannot be read' });
  const entries = isTaken ? [] : entriesOf(listOf(value.affected), releases);
  if (Number.isNaN(modifiedMs))
    return undecided({ id, packages: entries, isWhole: true, why: 'has no time' });
  const record = JSON.stringify(shownOf(value, { id, modified, entries }));
  return {
    kind: 'record',
    record: { id, modified, modifiedMs, entries, record, fault: null, isWhole: true },
  };
}

/** Why a record may speak of packages that nobody can tell; null where all of them are known. */
export function illegibleWhy(read: ReadRecord): string | null {
  if (read.kind === 'unreadable') return read.why;
  return read.record.isWhole ? null : read.record.fault;
}

function entriesOf(affected: readonly unknown[], releases: readonly string[] | null): MirrorEntry[] {
  const entries: MirrorEntry[] = [];
  for (const one of affected) {
    const target = isFields(one) ? packageOf(one.package) : null;
    if (!isFields(one) || !target || !isOfFleet(target.eco, releases)) continue;
    entries.push({
      ...target,
      rangesJson: JSON.stringify(rangesOf(one.ranges)),
      versionsJson: JSON.stringify('versions' in one ? (one.versions ?? null) : []),
    });
  }
  return entries;
}

/** Commits say nothing about versions (notes/supply-chain.md, 2.10); of an event only what the schema names is kept. */
function rangesOf(ranges: unknown): unknown {
  if (ranges === undefined) return [];
  if (!Array.isArray(ranges)) return null;
  const kept = ranges.filter((range) => !isFields(range) || range.type !== 'GIT');
  return kept.map((range) => (isFields(range) ? { type: range.type, events: range.events ?? null } : null));
}

/** The record as far as an operator is shown it, with what joins it to others. */
function shownOf(
  value: Fields,
  { id, modified, entries }: { id: string; modified: string; entries: readonly MirrorEntry[] },
): object {
  const specific = isFields(value.database_specific) ? value.database_specific : {};
  const word = textOf(specific.severity, 64);
  const codes = textsOf(specific.cwe_ids);
  return {
    id,
    modified,
    summary: textOf(value.summary, TEXT_MAX_CHARS),
    aliases: textsOf(value.aliases),
    upstream: textsOf(value.upstream),
    related: textsOf(value.related),
    severity: listOf(value.severity).slice(0, 10).filter(isFields).map(scoreOf),
    affected: entries.map(({ eco, name, rangesJson }) => ({
      package: { ecosystem: eco, name },
      ranges: fixesOf(JSON.parse(rangesJson)),
    })),
    database_specific: { cwe_ids: codes, ...(word === '' ? {} : { severity: word }) },
  };
}

/** Only what says in which version it is fixed. */
function fixesOf(ranges: unknown): object[] {
  return listOf(ranges).flatMap((range) => {
    const events = isFields(range) ? listOf(range.events) : [];
    const fixed = events.flatMap((event) =>
      isFields(event) && typeof event.fixed === 'string' ? [{ fixed: event.fixed }] : [],
    );
    return fixed.length > 0 ? [{ type: 'ECOSYSTEM', events: fixed }] : [];
  });
}

function scoreOf(score: Fields): object {
  return { type: textOf(score.type, 32), score: textOf(score.score, 256) };
}

/** What is left of a record that is not to be read: the packages that it names become undecidable. */
function salvage(
  bytes: Uint8Array,
  { id, releases, why }: { id: string; releases: readonly string[] | null; why: string },
): ReadRecord {
  const { packages, isWhole } = salvageRecord(bytes, id);
  if (packages.length === 0 && !isWhole) return { kind: 'unreadable', why };
  return undecided({ id, packages: packages.filter(({ eco }) => isOfFleet(eco, releases)), isWhole, why });
}

function undecided({
  id,
  packages,
  isWhole,
  why,
}: {
  id: string;
  packages: readonly NamedPackage[];
  isWhole: boolean;
  why: string;
}): ReadRecord {
  const entries = packages.map(({ eco, name }) => ({ eco, name, rangesJson: 'null', versionsJson: '[]' }));
  const modified = '1970-01-01T00:00:00Z';
  const record = JSON.stringify({ id, modified, summary: 'This advisory could not be read.' });
  return { kind: 'record', record: { id, modified, modifiedMs: 0, entries, record, fault: why, isWhole } };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textsOf(value: unknown): string[] {
  const texts = listOf(value).filter((one) => typeof one === 'string' && one.length <= ID_MAX_CHARS);
  return texts.slice(0, JOINS_MAX).map(String);
}

function textOf(value: unknown, mostChars: number): string {
  return typeof value === 'string' ? value.slice(0, mostChars) : '';
}
