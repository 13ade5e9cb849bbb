import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { isWithdrawn, readAffected } from '@tidegate/versions/osv-record';
import { wordsOf } from '../../vendor-word.ts';
import { type Fields, isFields, isOfFleet, type NamedPackage, packageOf } from './record-packages.ts';
import { salvageRecord } from './salvage-record.ts';

/** Ids that are kept of each list of ids of a record. */
export const JOINS_MAX = 100;
/** Of a displayed text. */
const TEXT_MAX_CHARS = 500;
const ID_MAX_CHARS = 256;

/** The matching data of one member of `affected`: one package of one ecosystem. */
export interface MirrorEntry extends NamedPackage {
  /** JSON of `ranges` and `versions`; `null` when they do not match the schema: undecidable. */
  readonly rangesJson: string;
  readonly versionsJson: string;
  /** The distribution's words about it; shown, and read as the vendor's word. */
  readonly words?: Readonly<Record<string, string>>;
}

/** A record reduced to what decides (entries) and what is shown (`record`), without `details` and `references`. */
export interface MirrorRecord {
  readonly id: string;
  readonly modified: string;
  readonly modifiedMs: number;
  /** Empty when it was withdrawn, or concerns no release of the fleet. */
  readonly entries: readonly MirrorEntry[];
  readonly record: string;
  /** Why it could not be read; its packages are then undecidable, never clear. */
  readonly fault: string | null;
  /** Whether `entries` include all packages that it names; if not, no package at all is clear. */
  readonly isWhole: boolean;
}

/** `unreadable`: none of its packages could be found out. */
export type ReadRecord = { readonly kind: 'record'; readonly record: MirrorRecord } | Unreadable;
export interface Unreadable {
  readonly kind: 'unreadable';
  readonly why: string;
}

/** Reduces an exported record to the releases of a fleet, such as `Debian:12`; null means all. Never throws. */
export function readMirrorRecord(
  bytes: Uint8Array,
  { id, releases }: { id: string; releases: readonly string[] | null },
): ReadRecord {
  const json = parseStrictJson(bytes);
  if (!json.ok) return salvage(bytes, { id, releases, why: json.reason });
  const value = json.value;
  if (!isFields(value)) return { kind: 'unreadable', why: 'is not an object' };
  if (value.id !== id || id.length > ID_MAX_CHARS) {
    // The record that belongs under this name is missing.
    return salvage(bytes, { id, releases, why: 'has an id that differs from its file name' });
  }
  const modified = textOf(value.modified, 64);
  const modifiedMs = Date.parse(modified);
  const isTaken = isWithdrawn(value);
  const affected = isTaken ? [] : readAffected(value);
  if (affected === null) return salvage(bytes, { id, releases, why: 'has an unreadable member of affected' });
  const entries = isTaken ? [] : entriesOf(listOf(value.affected), releases);
  if (Number.isNaN(modifiedMs))
    return undecided({ id, packages: entries, isWhole: true, why: 'has no modified time' });
  const record = JSON.stringify(shownOf(value, { id, modified, entries }));
  return {
    kind: 'record',
    record: { id, modified, modifiedMs, entries, record, fault: null, isWhole: true },
  };
}

/** Why a record may affect packages that cannot be found out; null when all of them are known. */
export function unreadableReason(read: ReadRecord): string | null {
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
      words: { ...wordsOf(one.database_specific), ...wordsOf(one.ecosystem_specific) },
    });
  }
  return entries;
}

/** Commits say nothing about versions; events keep only the members that the schema defines. */
function rangesOf(ranges: unknown): unknown {
  if (ranges === undefined) return [];
  if (!Array.isArray(ranges)) return null;
  const kept = ranges.filter((range) => !isFields(range) || range.type !== 'GIT');
  return kept.map((range) => (isFields(range) ? { type: range.type, events: range.events ?? null } : null));
}

/** The part of the record that operators see, with its aliases. */
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
    affected: entries.map(({ eco, name, rangesJson, words = {} }) => ({
      package: { ecosystem: eco, name },
      ranges: fixesOf(JSON.parse(rangesJson)),
      ...(Object.keys(words).length > 0 && { ecosystem_specific: words }),
    })),
    database_specific: { cwe_ids: codes, ...(word === '' ? {} : { severity: word }) },
  };
}

/** Only events that say which version fixes it. */
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

/** Salvages an unreadable record: the packages that it names become undecidable. */
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
