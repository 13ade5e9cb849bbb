import { isName, isVersion, normaliseName } from './names-rules.ts';
import type { Parsed } from './read-file.ts';

/** Maximum number of requirements and extras of a project, and their maximum length. */
const REQUIREMENTS_MAX = 2_000;
const REQUIREMENT_MAX_CHARS = 2_000;
const CONTROL = /\p{Cc}/u;

/** The metadata of a distribution that a resolver needs. */
export interface CoreMetadata {
  /** Normalised (PEP 503). */
  name: string;
  version: string;
  /** `Requires-Dist`, verbatim. */
  requires: string[];
  extras: string[];
}

/** Reads the head of a METADATA or PKG-INFO file (core metadata; mail headers): unusable names are refused. */
export function parseMetadata(text: string): Parsed<CoreMetadata> {
  const headers = readHeaders(text);
  const [name, ...names] = headers.get('name') ?? [];
  const [version, ...versions] = headers.get('version') ?? [];
  if (name === undefined || names.length > 0 || !isName(name)) {
    return { ok: false, reason: 'has no usable name' };
  }
  if (version === undefined || versions.length > 0 || !isVersion(version)) {
    return { ok: false, reason: 'has no usable version' };
  }
  const requires = headers.get('requires-dist') ?? [];
  const extras = headers.get('provides-extra') ?? [];
  if (requires.length + extras.length > REQUIREMENTS_MAX) {
    return { ok: false, reason: `names over ${REQUIREMENTS_MAX} requirements` };
  }
  if ([...requires, ...extras].some((line) => line.length > REQUIREMENT_MAX_CHARS)) {
    return { ok: false, reason: 'has a requirement that is too long' };
  }
  if (requires.some((line) => CONTROL.test(line))) {
    return { ok: false, reason: 'has a requirement that is not text' };
  }
  return { ok: true, value: { name: normaliseName(name), version, requires, extras: extras.filter(isName) } };
}

/** The lines up to the first empty one, unfolded. */
function readHeaders(text: string): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  let last: string[] | null = null;
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.trim() === '') break;
    if (/^[ \t|]/.test(line)) {
      if (last !== null) last.push(`${last.pop() ?? ''} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    if (colon <= 0) break;
    const key = line.slice(0, colon).toLowerCase();
    last = headers.get(key) ?? [];
    last.push(line.slice(colon + 1).trim());
    headers.set(key, last);
  }
  return headers;
}

export interface EnvironmentFile {
  /** `3.11.2`, or `3.11` when the patch is not stated. */
  pythonVersion: string;
  usesSystemPackages: boolean;
}

/** Reads pyvenv.cfg (PEP 405), as venv, virtualenv and uv write it. */
export function parseEnvironmentFile(text: string): Parsed<EnvironmentFile> {
  const values = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const [key = '', ...rest] = line.split('=');
    if (rest.length > 0) values.set(key.trim().toLowerCase(), rest.join('=').trim());
  }
  const said = values.get('version') ?? values.get('version_info') ?? '';
  const [version] = /^[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?/.exec(said) ?? [];
  if (version === undefined) return { ok: false, reason: 'does not name its Python version' };
  const usesSystemPackages = values.get('include-system-site-packages')?.toLowerCase() === 'true';
  return { ok: true, value: { pythonVersion: version, usesSystemPackages } };
}
