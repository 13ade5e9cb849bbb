import { isName } from './session.ts';

/** Maximum nesting depth of packages. */
export const NESTING_MAX = 32;
/** Longest place allowed by the schema (`arch`), in characters. */
const PLACE_MAX_CHARS = 256;

/** The package folders in a location, outermost first; null when it is not a package location. */
export function splitLocation(location: string): string[] | null {
  if (!location.startsWith('node_modules/')) return null;
  const folders = location.slice('node_modules/'.length).split('/node_modules/');
  return folders.length <= NESTING_MAX && folders.every(isName) ? folders : null;
}

/** The location around this one; '' for the place itself. */
export function parentOf(location: string): string {
  const at = location.lastIndexOf('/node_modules/');
  return at === -1 ? '' : location.slice(0, at);
}

export function childOf(location: string, folder: string): string {
  return location === '' ? `node_modules/${folder}` : `${location}/node_modules/${folder}`;
}

/** Where packages are kept: a project folder, or the prefix of the global ones. */
export interface NpmPlace {
  kind: 'global' | 'project';
  /** Absolute, without a slash at its end. */
  path: string;
}

/** The folder that locations are relative to; npm inserts `lib` for global packages. */
export function folderOfPlace({ kind, path }: NpmPlace): string {
  return kind === 'global' ? `${path}/lib` : path;
}

/**
 * Encodes a place as `arch` (decision 0009): its path for a top-level package, plus the location for a nested or
 * aliased one. Null when longer than the schema allows.
 */
export function archOf(
  place: NpmPlace,
  { location, name }: { location: string; name: string },
): string | null {
  const isTop = location === childOf('', name);
  const below = place.kind === 'global' ? `lib/${location}` : location;
  const arch = isTop ? place.path : `${place.path}//${below}`;
  return arch.length <= PLACE_MAX_CHARS ? arch : null;
}

/** The location of a package in its place, from its `arch`; null where that is of another place or no location. */
export function locationIn(
  { kind, path }: NpmPlace,
  { name, arch }: { name: string; arch?: string | undefined },
): string | null {
  if (arch === path) return childOf('', name);
  const start = `${path}//${kind === 'global' ? 'lib/' : ''}`;
  if (!arch?.startsWith(start)) return null;
  const location = arch.slice(start.length);
  return splitLocation(location) === null ? null : location;
}

/** The path of the place in an `arch`. */
export function placePathOf(arch: string): string {
  const at = arch.indexOf('//');
  return at === -1 ? arch : arch.slice(0, at);
}

/** Only top-level packages of a place are updated on their own. */
export function findPlace(places: readonly NpmPlace[], arch: string | undefined): NpmPlace | null {
  if (arch === undefined || placePathOf(arch) !== arch) return null;
  return places.find(({ path }) => path === arch) ?? null;
}
