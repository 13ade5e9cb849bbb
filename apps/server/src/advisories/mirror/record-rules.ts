import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { canonicalName, ecosystemCovers, orderingEcosystem } from '@tidegate/versions/osv-ecosystems';
import { isWithdrawn, readAffected } from '@tidegate/versions/osv-record';

/** Ids that join a record to others, and characters of what is shown of it. */
const JOINS_MAX = 100;
const TEXT_MAX_CHARS = 500;
const ID_MAX_CHARS = 256;
/** Packages that are looked for in a record that cannot be read. */
const SALVAGED_MAX = 1_000;

/** What matching uses of one member of `affected`, for one package of one ecosystem. */
export interface MirrorEntry {
  readonly eco: string;
  readonly name: string;
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
}

/** `unreadable`: not even the packages that it speaks of can be told. */
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
  if (!isObject(value)) return { kind: 'unreadable', why: 'is not an object' };
  const modified = textOf(value.modified, 64);
  const modifiedMs = Date.parse(modified);
  const affected = readAffected(value);
  const why =
    value.id !== id || id.length > ID_MAX_CHARS
      ? 'has another id than its name'
      : Number.isNaN(modifiedMs)
        ? 'has no time'
        : affected === null
          ? 'affects something that cannot be read'
          : null;
  if (why !== null) return salvage(bytes, { id, releases, why });
  const entries = isWithdrawn(value) ? [] : entriesOf(listOf(value.affected), releases);
  const record = JSON.stringify(shownOf(value, { id, modified, entries }));
  return { kind: 'record', record: { id, modified, modifiedMs, entries, record, fault: null } };
}

function entriesOf(affected: readonly unknown[], releases: readonly string[] | null): MirrorEntry[] {
  const entries: MirrorEntry[] = [];
  for (const one of affected) {
    const target = isObject(one) ? packageOf(one.package) : null;
    if (!isObject(one) || !target || !isOfFleet(target.ecosystem, releases)) continue;
    entries.push({
      eco: target.ecosystem,
      name: nameOf(target),
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
  const kept = ranges.filter((range) => !isObject(range) || range.type !== 'GIT');
  return kept.map((range) => (isObject(range) ? { type: range.type, events: range.events ?? null } : null));
}

/** The record as far as an operator is shown it, with what joins it to others. */
function shownOf(
  value: Fields,
  { id, modified, entries }: { id: string; modified: string; entries: readonly MirrorEntry[] },
): object {
  const specific = isObject(value.database_specific) ? value.database_specific : {};
  const word = textOf(specific.severity, 64);
  const codes = textsOf(specific.cwe_ids);
  return {
    id,
    modified,
    summary: textOf(value.summary, TEXT_MAX_CHARS),
    aliases: textsOf(value.aliases),
    upstream: textsOf(value.upstream),
    related: textsOf(value.related),
    severity: listOf(value.severity).slice(0, 10).filter(isObject).map(scoreOf),
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
    const events = isObject(range) ? listOf(range.events) : [];
    const fixed = events.flatMap((event) =>
      isObject(event) && typeof event.fixed === 'string' ? [{ fixed: event.fixed }] : [],
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
  const named = new Map<string, MirrorEntry>();
  for (const [text] of new TextDecoder().decode(bytes).matchAll(PACKAGE)) {
    const json = parseStrictJson(text.slice(text.indexOf('{')));
    const target = json.ok ? packageOf(json.value) : null;
    if (!target || named.size >= SALVAGED_MAX) continue;
    const name = nameOf(target);
    named.set(`${target.ecosystem}\n${name}`, {
      eco: target.ecosystem,
      name,
      rangesJson: 'null',
      versionsJson: '[]',
    });
  }
  if (named.size === 0) return { kind: 'unreadable', why };
  const entries = [...named.values()].filter(({ eco }) => isOfFleet(eco, releases));
  const modified = '1970-01-01T00:00:00Z';
  const record = JSON.stringify({ id, modified, summary: 'This advisory could not be read.' });
  return { kind: 'record', record: { id, modified, modifiedMs: 0, entries, record, fault: why } };
}

/** A member `package`; its braces hold no others, so that the time is linear in the text. */
const PACKAGE = /"package"\s{0,20}:\s{0,20}\{[^{}]{0,2000}\}/g;

function packageOf(value: unknown): { ecosystem: string; name: string } | null {
  if (!isObject(value)) return null;
  const { ecosystem, name } = value;
  return typeof ecosystem === 'string' && typeof name === 'string' ? { ecosystem, name } : null;
}

function nameOf({ ecosystem, name }: { ecosystem: string; name: string }): string {
  const ordering = orderingEcosystem(ecosystem);
  return ordering === null ? name : canonicalName(ordering, name);
}

/** A bare `Debian` and a release that the fleet names less exactly belong to it too. */
function isOfFleet(record: string, releases: readonly string[] | null): boolean {
  return releases === null || releases.some((host) => ecosystemCovers({ record, host }) !== 'no');
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
