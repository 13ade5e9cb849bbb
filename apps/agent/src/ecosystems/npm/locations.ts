import { isName } from './session.ts';

/** Deepest nesting of packages in packages that is read. */
export const NESTING_MAX = 32;
/** Longest place that the wire takes (`arch`). */
const PLACE_MAX_CHARS = 256;

/** The folders of packages that one location names, outermost first; null for what is no location of packages. */
export function splitLocation(location: string): string[] | null {
  if (!location.startsWith('node_modules/')) return null;
  const folders = location.slice('node_modules/'.length).split('/node_modules/');
  return folders.length <= NESTING_MAX && folders.every(isName) ? folders : null;
}

/** The location that holds this one; '' for the place itself. */
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

/** What a location is below: for global packages npm puts `lib` between. */
export function folderOfPlace({ kind, path }: NpmPlace): string {
  return kind === 'global' ? `${path}/lib` : path;
}

/**
 * How a place is told in `arch` (decision 0009): by its own path for what lies at its top, with the path below it
 * for what is nested, and for what lies there under another name. Null past what the wire takes.
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

/** The path of the place that an `arch` tells. */
export function placePathOf(arch: string): string {
  const at = arch.indexOf('//');
  return at === -1 ? arch : arch.slice(0, at);
}
