import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { parentOf, splitLocation } from './locations.ts';
import { isName, isSafeArgument } from './session.ts';

/** Maximum size of a lockfile, in bytes. */
export const LOCKFILE_MAX_BYTES = 32 * 1024 * 1024;
/** Maximum number of packages in a lockfile. */
export const LOCKFILE_MAX_PACKAGES = 50_000;

export type Parsed<T> = { ok: true; value: T } | { ok: false; reason: string };

const Needs = Type.Record(Type.String(), Type.String());
const Fits = Type.Union([Type.String(), Type.Array(Type.String())]);

/** The members in use; npm may add others. */
const RawEntry = Type.Object({
  name: Type.Optional(Type.String()),
  version: Type.Optional(Type.String({ maxLength: 256 })),
  resolved: Type.Optional(Type.Union([Type.String({ maxLength: 2_048 }), Type.Boolean()])),
  integrity: Type.Optional(Type.String()),
  link: Type.Optional(Type.Boolean()),
  inBundle: Type.Optional(Type.Boolean()),
  extraneous: Type.Optional(Type.Boolean()),
  dependencies: Type.Optional(Needs),
  devDependencies: Type.Optional(Needs),
  optionalDependencies: Type.Optional(Needs),
  peerDependencies: Type.Optional(Needs),
  peerDependenciesMeta: Type.Optional(
    Type.Record(Type.String(), Type.Object({ optional: Type.Optional(Type.Boolean()) })),
  ),
  workspaces: Type.Optional(Type.Unknown()),
  os: Type.Optional(Fits),
  cpu: Type.Optional(Fits),
  libc: Type.Optional(Fits),
});
type RawEntry = Static<typeof RawEntry>;

const RawLockfile = Type.Object({
  lockfileVersion: Type.Integer(),
  packages: Type.Record(Type.String(), RawEntry),
});

/** One package of a lockfile. */
export interface LockEntry {
  location: string;
  name: string;
  /** Null for a link; its target has the version. */
  version: string | null;
  resolved: string | null;
  integrity: string | null;
  isLink: boolean;
  /** Comes in the tarball of a package around it, or is bundled by the project. */
  isBundled: boolean;
  /** No package requires it; npm still installs it when bundled. */
  isExtraneous: boolean;
  needs: Needs;
  /** The platforms the package is limited to; null when unlimited. */
  fits: { os: readonly string[] | null; cpu: readonly string[] | null; libc: readonly string[] | null };
}

/** Dependencies by kind. Maps, because a name may equal a member of Object.prototype. */
export interface Needs {
  required: ReadonlyMap<string, string>;
  development: ReadonlyMap<string, string>;
  optional: ReadonlyMap<string, string>;
  peers: ReadonlyMap<string, string>;
}

export interface Lockfile {
  version: 2 | 3;
  root: Needs;
  hasWorkspaces: boolean;
  /** By location; without the root and folders of workspaces. */
  entries: ReadonlyMap<string, LockEntry>;
}

/** Reads a lockfile of version 2 or 3 strictly: every location names packages, every name and version is one. */
export function parseLockfile(source: string | Uint8Array): Parsed<Lockfile> {
  if (source.length > LOCKFILE_MAX_BYTES) return refuse(`is larger than ${LOCKFILE_MAX_BYTES} bytes`);
  const json = parseStrictJson(source);
  if (!json.ok) return refuse(json.reason);
  if (!Check(RawLockfile, json.value)) return refuse('is not a lockfile of version 2 or 3');
  const { lockfileVersion: version, packages } = json.value;
  if (version !== 2 && version !== 3) return refuse(`has version ${version}, not 2 or 3`);
  const raw = Object.entries(packages);
  if (raw.length > LOCKFILE_MAX_PACKAGES) return refuse(`names more than ${LOCKFILE_MAX_PACKAGES} packages`);
  const entries = new Map<string, LockEntry>();
  let hasWorkspaces = false;
  for (const [location, entry] of raw) {
    if (location === '') continue;
    if (!isInside(location))
      return refuse(`names a path outside the project: ${JSON.stringify(location.slice(0, 200))}`);
    // A workspace folder holds the project's own code.
    if (!location.includes('node_modules')) {
      hasWorkspaces = true;
      continue;
    }
    const parsed = toEntry(location, entry);
    if (parsed === null) return refuse(`has an unsound entry at ${JSON.stringify(location.slice(0, 200))}`);
    entries.set(location, parsed);
  }
  const root = Object.hasOwn(packages, '') ? packages[''] : undefined;
  hasWorkspaces ||= root?.workspaces !== undefined || [...entries.values()].some(({ isLink }) => isLink);
  return { ok: true, value: { version, root: needsOf(root ?? {}), hasWorkspaces, entries } };
}

function refuse(reason: string): { ok: false; reason: string } {
  return { ok: false, reason: `the lockfile ${reason}` };
}

/** No absolute path, nothing above, no other separator. */
function isInside(location: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: rejects names with control characters
  if (/[\\\u0000-\u001f]/.test(location) || /^[A-Za-z]:/.test(location)) return false;
  return location.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

function toEntry(location: string, raw: RawEntry): LockEntry | null {
  const folders = splitLocation(location);
  const folder = folders?.at(-1);
  if (folder === undefined) return null;
  const name = raw.name ?? folder;
  const isLink = raw.link === true;
  if (!isName(name)) return null;
  if (!isLink && (raw.version === undefined || !isSafeArgument({ name, version: raw.version }))) return null;
  return {
    location,
    name,
    version: raw.version ?? null,
    resolved: typeof raw.resolved === 'string' ? raw.resolved : null,
    integrity: raw.integrity ?? null,
    isLink,
    isBundled: raw.inBundle === true,
    isExtraneous: raw.extraneous === true,
    needs: needsOf(raw),
    fits: { os: listOf(raw.os), cpu: listOf(raw.cpu), libc: listOf(raw.libc) },
  };
}

/** The package that bundles this one; null when it is the project itself. */
export function findBundler(entries: ReadonlyMap<string, LockEntry>, location: string): LockEntry | null {
  for (let at = parentOf(location); at !== ''; at = parentOf(at)) {
    const entry = entries.get(at);
    if (entry?.isBundled === false) return entry;
  }
  return null;
}

export function needsOf(raw: RawEntry): Needs {
  const optional = new Map(Object.entries(raw.optionalDependencies ?? {}));
  const required = Object.entries(raw.dependencies ?? {}).filter(([name]) => !optional.has(name));
  const meta = new Map(Object.entries(raw.peerDependenciesMeta ?? {}));
  const peers = Object.entries(raw.peerDependencies ?? {}).filter(
    ([name]) => meta.get(name)?.optional !== true,
  );
  return {
    required: new Map(required),
    development: new Map(Object.entries(raw.devDependencies ?? {})),
    optional,
    peers: new Map(peers),
  };
}

function listOf(value: string | string[] | undefined): readonly string[] | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? [value] : value;
}
