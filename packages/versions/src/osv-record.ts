/** One boundary of a range. `version` null is the `"0"` of `introduced`: before every version. */
export type OsvEvent = { kind: 'introduced' | 'last_affected' | 'fixed' | 'limit'; version: string | null };

/** `events` is null where one of them has another form than the schema's: such a range cannot be decided. */
export type OsvRange = { type: string; events: OsvEvent[] | null };

/**
 * One member of `affected`, the parts that matching uses. `package` is null where only commits are affected, a list
 * where it has another form than the schema's.
 */
export type OsvAffected = {
  package: { ecosystem: string; name: string } | null;
  versions: string[] | null;
  ranges: OsvRange[] | null;
};

/**
 * Reads the members of an OSV record that matching uses. Null when its packages are unclear: a record that cannot
 * be parsed must not count as unaffected.
 */
export function readAffected(record: unknown): OsvAffected[] | null {
  if (!isObject(record)) return null;
  return listOf('affected' in record ? record.affected : [], readEntry);
}

/**
 * Whether the record was taken back. A zero instant, which a converter wrote on live Debian records, does not
 * count, nor does an invalid time.
 */
export function isWithdrawn(record: unknown): boolean {
  if (!isObject(record) || !('withdrawn' in record) || typeof record.withdrawn !== 'string') return false;
  const [date = ''] = /^\d{4}-\d{2}-\d{2}(?=T)/.exec(record.withdrawn) ?? [];
  return Date.parse(date) > 0; // above Unix's zero instant, and Go's, which is in the year 1
}

function readEntry(entry: unknown): OsvAffected | null {
  if (!isObject(entry)) return null;
  const affectedPackage = 'package' in entry ? readPackage(entry.package) : null;
  if (affectedPackage === undefined) return null;
  return {
    package: affectedPackage,
    versions: listOf('versions' in entry ? entry.versions : [], readText),
    ranges: listOf('ranges' in entry ? entry.ranges : [], readRange),
  };
}

function readPackage(value: unknown): { ecosystem: string; name: string } | undefined {
  if (!isObject(value) || !('ecosystem' in value && 'name' in value)) return undefined;
  const { ecosystem, name } = value;
  return typeof ecosystem === 'string' && typeof name === 'string' ? { ecosystem, name } : undefined;
}

function readRange(range: unknown): OsvRange | null {
  if (!isObject(range)) return null;
  const type = 'type' in range && typeof range.type === 'string' ? range.type : '';
  const events = 'events' in range ? listOf(range.events, readEvent) : null;
  return { type, events };
}

function readEvent(event: unknown): OsvEvent | null {
  if (!isObject(event)) return null;
  const [member, ...others] = Object.entries(event);
  if (member === undefined || others.length > 0) return null; // exactly one of the four (schema, "events object")
  const [kind, version] = member;
  if (typeof version !== 'string' || !isEventKind(kind)) return null;
  return { kind, version: kind === 'introduced' && version === '0' ? null : version };
}

function readText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function isEventKind(kind: string): kind is OsvEvent['kind'] {
  return kind === 'introduced' || kind === 'last_affected' || kind === 'fixed' || kind === 'limit';
}

/** Reads each item; null when the value is no list or an item cannot be read. */
function listOf<Item>(value: unknown, readItem: (item: unknown) => Item | null): Item[] | null {
  if (!Array.isArray(value)) return null;
  const items: Item[] = [];
  for (const each of value) {
    const item = readItem(each);
    if (item === null) return null;
    items.push(item);
  }
  return items;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
