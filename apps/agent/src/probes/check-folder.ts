import { lstatSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CheckName } from '@tidegate/protocol/probes';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { IsObject, IsUnion, type Static, type TSchema, Type } from 'typebox';
import { Check, Errors } from 'typebox/value';
import { findLooseFolder, type PolicyPlace } from '../host-policy/policy-folders.ts';
import { errorCode, readTrusted } from '../platform/file-layer.ts';

const FILE_MAX_BYTES = 16 * 1024;
/** Entries of a folder that are looked at; more make it unusable. */
const ENTRIES_MAX = 1_000;
const ENDING = '.json';

/** A file of root's that says what to check or run; `fault`: why it cannot be used. */
export type CheckFile<T> = { name: string } & ({ ok: true; value: T } | { ok: false; fault: string });

/** The usable and unusable files of a folder by name; `fault`: the folder itself cannot be trusted. */
export type CheckFolder<T> = { ok: true; files: CheckFile<T>[] } | { ok: false; fault: string };

/** A folder of root's beside the policy of this host, such as `probes.d`. */
export function folderBeside(policy: PolicyPlace, name: string): PolicyPlace {
  return { ...policy, path: join(dirname(policy.path), name) };
}

/**
 * Reads the `*.json` of a folder that nobody but root can change, as the policy of the host is read. A file is never
 * passed over in silence: one that cannot be used is in the list with its fault.
 */
export function readCheckFolder<S extends TSchema>(
  place: PolicyPlace,
  schema: S,
  filesMax: number,
): CheckFolder<Static<S>> {
  const { path } = place;
  let entries: string[];
  try {
    // Whoever can write a folder above can remove this one, so that its absence proves nothing.
    const loose = findLooseFolder({ ...place, path: join(nearest(path, place.top), 'x') });
    if (loose !== null) return { ok: false, fault: loose };
    if (!isThere(path)) return { ok: true, files: [] };
    entries = readdirSync(path);
  } catch (error) {
    return { ok: false, fault: `${path} cannot be read (${errorCode(error)})` };
  }
  if (entries.length > ENTRIES_MAX) return { ok: false, fault: `${path} has over ${ENTRIES_MAX} entries` };
  const names = entries.filter((entry) => !entry.startsWith('.') && entry.endsWith(ENDING)).sort();
  if (names.length > filesMax) {
    return { ok: false, fault: `${path} has ${names.length} files, and at most ${filesMax} are used` };
  }
  const odd = names.find((entry) => !Check(CheckName, nameOf(entry)));
  if (odd !== undefined) {
    return {
      ok: false,
      fault: `${path} has a file whose name is not a-z, 0-9, ".", "_" or "-" before its ending`,
    };
  }
  return { ok: true, files: names.map((entry) => readOne(place, entry, schema)) };
}

/** The folder itself, or the first above it that is there. */
function nearest(path: string, top: string): string {
  const above = dirname(path);
  return isThere(path) || path === top || above === path ? path : nearest(above, top);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function nameOf(entry: string): string {
  return entry.slice(0, -ENDING.length);
}

function readOne<S extends TSchema>(
  { path, ownerUid }: PolicyPlace,
  entry: string,
  schema: S,
): CheckFile<Static<S>> {
  const name = nameOf(entry);
  const read = readTrusted(join(path, entry), { maxBytes: FILE_MAX_BYTES, ownerUid, forbiddenMode: 0o022 });
  if (!read.ok) return { name, ok: false, fault: read.detail };
  const parsed = parseStrictJson(read.bytes);
  if (!parsed.ok) return { name, ok: false, fault: `it ${parsed.reason}` };
  if (Check(schema, parsed.value)) return { name, ok: true, value: parsed.value };
  const [fault] = Errors(partOf(schema, parsed.value), parsed.value);
  const where = fault?.instancePath || '/';
  const what = fault?.keyword === 'boolean' ? 'is no member here' : (fault?.message ?? 'is wrong');
  return { name, ok: false, fault: `${where} ${what}` };
}

/** Of several kinds the one that the file names, so that its fault is told and not that of another kind. */
function partOf(schema: TSchema, value: unknown): TSchema {
  if (!IsUnion(schema)) return schema;
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  const named = schema.anyOf.find(
    (one) => IsObject(one) && one.properties.kind !== undefined && Check(one.properties.kind, kind),
  );
  const kinds = schema.anyOf.flatMap((one) => (IsObject(one) ? (one.properties.kind ?? []) : []));
  return named ?? Type.Object({ kind: Type.Union(kinds) });
}
