import { compareVersions } from '@tidegate/versions';
import { canonicalName } from '@tidegate/versions/names';

/** Longest name and version allowed by the schema, in characters. */
const NAME_MAX_CHARS = 214;
const VERSION_MAX_CHARS = 128;

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.!+_-]*$/;

/** Whether a name is valid by PEP 508, and so safe in arguments and paths. */
export function isName(name: string): boolean {
  return name.length <= NAME_MAX_CHARS && NAME.test(name);
}

/** Whether a version is safe in arguments and paths; it may still be unordered. */
export function isVersion(version: string): boolean {
  return version.length <= VERSION_MAX_CHARS && VERSION.test(version);
}

/** The normalised name, used for comparison (PEP 503). */
export function normaliseName(name: string): string {
  return canonicalName('pypi', name);
}

/** Whether a version is a pre-release, which pip skips by default (PEP 440). */
export function isPreRelease(version: string): boolean {
  const [publicPart = ''] = version.split('+');
  return /[0-9][._-]?(?:a|b|c|rc|alpha|beta|pre|preview|dev)(?:[._-]?[0-9]+|[._-]|$)/i.test(publicPart);
}

export interface FileName {
  kind: 'wheel' | 'sdist';
  /** Normalised. */
  name: string;
  version: string;
}

/**
 * Parses a file name of an index (binary distribution format; PEP 625 and earlier forms). Null for files that pip
 * would not install and for anything but a bare file name.
 */
export function parseFilename(filename: string, project: string): FileName | null {
  if (filename.length > 400 || !/^[A-Za-z0-9][A-Za-z0-9._!+-]*$/.test(filename)) return null;
  if (filename.endsWith('.whl')) {
    const parts = filename.slice(0, -'.whl'.length).split('-');
    const [name = '', version = ''] = parts;
    if (parts.length !== 5 && parts.length !== 6) return null;
    return named('wheel', { name, version: version.replaceAll('_', '-'), project });
  }
  const ending = ['.tar.gz', '.zip', '.tar.bz2', '.tgz'].find((end) => filename.endsWith(end));
  if (ending === undefined) return null;
  const stem = filename.slice(0, -ending.length);
  // The name may contain dashes; it must be that of the page's project.
  for (let at = stem.indexOf('-'); at > 0; at = stem.indexOf('-', at + 1)) {
    if (normaliseName(stem.slice(0, at)) !== normaliseName(project)) continue;
    return named('sdist', { name: stem.slice(0, at), version: stem.slice(at + 1), project });
  }
  return null;
}

function named(
  kind: FileName['kind'],
  { name, version, project }: { name: string; version: string; project: string },
): FileName | null {
  if (normaliseName(name) !== normaliseName(project)) return null;
  if (!isVersion(version) || compareVersions('pypi', version, version) === 'undecidable') return null;
  return { kind, name: normaliseName(name), version };
}
