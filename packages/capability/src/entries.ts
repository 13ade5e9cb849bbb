import { pointTo, Report } from './findings.ts';
import { IDENTIFIER_FORM, identifierFault, MAX_LENGTH } from './identifier.ts';
import {
  listOf,
  optional,
  orNull,
  type Place,
  readField,
  readMembers,
  required,
  type Shape,
  schemaOfFields,
  text,
} from './shape.ts';
import { canonical, isMembers, readValue, type Value } from './values.ts';

/** A permission with what it adds to the scope; `null` where the file has no list. */
export interface PermissionEntry {
  readonly identifier: string;
  readonly allow: readonly Value[] | null;
  readonly deny: readonly Value[] | null;
}

const anyValue: Shape<Value> = {
  schema: { $ref: '#/$defs/Value' },
  read: (raw, at) => readValue(raw, at.path, at.report),
};
const permissionIdentifier = text(identifierFault, {
  maxLength: MAX_LENGTH,
  pattern: IDENTIFIER_FORM.source,
});

const ENTRY = {
  identifier: required('identifier', permissionIdentifier, 'Permission or set: `<plugin>:<permission>`.'),
  allow: optional('allow', orNull(listOf(anyValue, 'values')), null, 'Added to what the scope allows.'),
  deny: optional(
    'deny',
    orNull(listOf(anyValue, 'values')),
    null,
    'Added to what the scope denies, which wins.',
  ),
};

const permissionEntry: Shape<PermissionEntry> = {
  schema: { anyOf: [permissionIdentifier.schema, schemaOfFields(Object.values(ENTRY))] },
  read(raw, at) {
    if (typeof raw === 'string') {
      const identifier = permissionIdentifier.read(raw, at);
      return identifier === undefined ? undefined : { identifier, allow: null, deny: null };
    }
    const what = 'a permission identifier or an object with one';
    const members = readMembers(raw, { what, fields: Object.values(ENTRY), at });
    if (members === undefined) return undefined;
    const identifier = readField(ENTRY.identifier, members, at);
    const allow = readField(ENTRY.allow, members, at);
    const deny = readField(ENTRY.deny, members, at);
    if (identifier === undefined || allow === undefined || deny === undefined) return undefined;
    return { identifier, allow, deny };
  },
};

const entries = listOf(permissionEntry, 'permissions');
/** The permissions of a capability: each once (R8). */
export const uniqueEntries: Shape<readonly PermissionEntry[]> = {
  schema: { ...entries.schema, uniqueItems: true },
  read(raw, at) {
    if (Array.isArray(raw)) reportRepeated(raw, at);
    return entries.read(raw, at);
  },
};

/** The identifier of a capability or entry, whatever else of it is wrong. */
export function identifierOf(raw: unknown): string | null {
  return isMembers(raw) && typeof raw.identifier === 'string' ? raw.identifier : null;
}

function reportRepeated(raw: readonly unknown[], { path, report }: Place): void {
  const identifiers = raw.map((item) => (typeof item === 'string' ? item : identifierOf(item)));
  // Items of different identifiers are different: nearly always that is all there is to it.
  if (new Set(identifiers).size === raw.length) return;
  const byIdentifier = Map.groupBy(raw.keys(), (i) => identifiers[i]);
  for (const indexes of byIdentifier.values())
    if (indexes.length > 1) reportEqual(raw, indexes, { path, report });
}

function reportEqual(raw: readonly unknown[], indexes: readonly number[], { path, report }: Place): void {
  const seen = new Map<string, number>();
  for (const i of indexes) {
    const key = keyOf(raw[i]);
    const first = key === null ? undefined : seen.get(key);
    if (first !== undefined)
      report.error(pointTo(path, i), `repeats the item ${first}; the permissions of a capability are unique`);
    else if (key !== null) seen.set(key, i);
  }
}

/** Equal for entries that say the same, in whichever form; null for one that is wrong in itself. */
function keyOf(item: unknown): string | null {
  if (typeof item === 'string') return canonical([item, null, null]);
  if (!isMembers(item)) return null;
  const { identifier, allow = null, deny = null } = item;
  const value = readValue([identifier, allow, deny], '', new Report());
  return value === undefined ? null : canonical(value);
}
