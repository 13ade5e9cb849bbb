import { lstat, readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HostPaths } from '../ecosystem.ts';
import { type Discovery, discoverPlaces, ENVIRONMENT_FILE } from './discover.ts';
import { parseEnvironmentFile } from './parse-metadata.ts';
import { type Parsed, readPlainFile } from './read-file.ts';

const CONFIGURATION_MAX_BYTES = 64 * 1024;
/** Longest path allowed as `arch`, in characters. */
const PLACE_MAX_CHARS = 256;
/** The path of a user's own packages. */
const USER_FOLDER = /^\/.*\/\.local\/lib\/python(3\.[0-9]{1,3})\/site-packages$/;
/** The prefix of the host's interpreters, each at `bin/python3.X`. */
const SYSTEM_PREFIX = '/usr';
const PYTHON_FOLDER = /^(?:python|pypy)3\.[0-9]{1,3}t?$/;

/** A folder with its own Python packages (decision 0009: encoded in `arch`). */
export interface PypiPlace {
  kind: 'environment' | 'user';
  /** The virtual environment; for a user's own packages their folder, as there is one for each Python. */
  path: string;
  sitePackages: string;
  /** Of the interpreter: `3.11.2`, or `3.11`. */
  pythonVersion: string;
  /** Its interpreter: the environment's own, or the host's of that version for a user's packages. */
  python: string;
  /** Whether it also sees the system's packages. */
  usesSystemPackages: boolean;
}

export interface FoundPlaces {
  places: PypiPlace[];
  /** Existing places that cannot be read: they make a scan incomplete. */
  faults: string[];
  /** Folders that could not be searched: they may contain places. */
  unseen: string[];
}

/** The environments named by the administrator and those found in the usual folders. */
export async function findPlaces(
  paths: HostPaths,
  discovered?: Discovery,
  systemPrefix = SYSTEM_PREFIX,
): Promise<FoundPlaces> {
  const found = discovered ?? (await discoverPlaces());
  const places: PypiPlace[] = [];
  const faults = [...found.faults];
  const environments = new Set([...paths.pypi.environments, ...found.environments]);
  for (const path of [...environments].sort()) {
    const place = await readEnvironment(path);
    if (place.ok) places.push(place.value);
    else faults.push(place.reason);
  }
  for (const path of found.userFolders) {
    const place = await readUserFolder(path, systemPrefix);
    if (place.ok) places.push(place.value);
    else faults.push(place.reason);
  }
  return { places, faults, unseen: found.unseen };
}

/** Reads the place that an `arch` names. */
export async function readPlace(path: string, systemPrefix = SYSTEM_PREFIX): Promise<Parsed<PypiPlace>> {
  return USER_FOLDER.test(path) ? readUserFolder(path, systemPrefix) : readEnvironment(path);
}

/** Identifies an environment from its files alone: nothing in it is run. */
export async function readEnvironment(path: string): Promise<Parsed<PypiPlace>> {
  const lost = await findWhyNotItself(path);
  if (lost !== null) return { ok: false, reason: lost };
  const file = join(path, ENVIRONMENT_FILE);
  const read = await readPlainFile(file, CONFIGURATION_MAX_BYTES);
  if (!read.ok) return { ok: false, reason: read.reason };
  const said = parseEnvironmentFile(read.text);
  if (!said.ok) return { ok: false, reason: `${file} ${said.reason}` };
  const [major, minor] = said.value.pythonVersion.split('.');
  const lib = join(path, 'lib');
  const names = (await readdir(lib).catch(() => [])).filter((name) => PYTHON_FOLDER.test(name));
  const suited = names.filter(
    (name) => name.replace(/^[a-z]+/, '').replace(/t$/, '') === `${major}.${minor}`,
  );
  const [folder, ...others] = suited;
  if (folder === undefined || others.length > 0) {
    return { ok: false, reason: `${lib} does not hold the packages of Python ${major}.${minor}` };
  }
  const sitePackages = join(lib, folder, 'site-packages');
  const stat = await lstat(sitePackages).catch(() => null);
  if (!stat?.isDirectory()) return { ok: false, reason: `${sitePackages} is not a folder that can be read` };
  const python = join(path, 'bin/python');
  return { ok: true, value: { kind: 'environment', path, sitePackages, python, ...said.value } };
}

async function readUserFolder(sitePackages: string, systemPrefix: string): Promise<Parsed<PypiPlace>> {
  const [, pythonVersion] = USER_FOLDER.exec(sitePackages) ?? [];
  if (pythonVersion === undefined)
    return { ok: false, reason: `${sitePackages} is not a folder of a user's packages` };
  const lost = await findWhyNotItself(sitePackages);
  if (lost !== null) return { ok: false, reason: lost };
  const python = join(systemPrefix, `bin/python${pythonVersion}`);
  const place = { kind: 'user' as const, path: sitePackages, sitePackages, python };
  return { ok: true, value: { ...place, pythonVersion, usesSystemPackages: true } };
}

async function findWhyNotItself(path: string): Promise<string | null> {
  if (path.length > PLACE_MAX_CHARS) return `${path} is too long a path`;
  const real = await realpath(path).catch(() => null);
  if (real === null) return `${path} cannot be read`;
  return real === path ? null : `${path} is reached through a link; its own path is ${real}`;
}

/** The `PYTHONUSERBASE` whose packages are in `sitePackages`: `~/.local`. */
export function userBase({ sitePackages }: PypiPlace): string {
  return dirname(dirname(dirname(sitePackages)));
}

/**
 * Whether the place is externally managed (PEP 668): then nothing is changed there. For a user's packages the
 * marker is beside the interpreter's standard library. A marker in an environment counts too, although pip checks
 * only the interpreter's.
 */
export async function isExternallyManaged(place: PypiPlace): Promise<boolean> {
  const folders = [dirname(place.sitePackages), ...(place.kind === 'user' ? await findStdlibs(place) : [])];
  for (const folder of folders) {
    if ((await lstat(join(folder, 'EXTERNALLY-MANAGED')).catch(() => null)) !== null) return true;
  }
  return false;
}

/** Candidates for the interpreter's standard library: `lib64` on some hosts, and link targets. */
async function findStdlibs({ python, pythonVersion }: PypiPlace): Promise<string[]> {
  const real = await realpath(python).catch(() => python);
  const prefixes = new Set([python, real].map((program) => dirname(dirname(program))));
  return [...prefixes].flatMap((prefix) =>
    ['lib', 'lib64'].map((lib) => join(prefix, lib, `python${pythonVersion}`)),
  );
}
