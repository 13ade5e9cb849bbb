import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { errorCode } from '../../platform/file-layer.ts';
import { childOf, NESTING_MAX } from './locations.ts';
import { LOCKFILE_MAX_PACKAGES } from './lockfile.ts';
import { isName, isSafeArgument } from './session.ts';

/** Maximum size of a package.json, in bytes; some contain a whole configuration. */
export const MANIFEST_MAX_BYTES = 4 * 1024 * 1024;

/** The members of a package.json that identify the package. */
export const Identity = Type.Object({ name: Type.String(), version: Type.String() });

/** A package as it lies on the disk. */
export interface DiskPackage {
  location: string;
  name: string;
  version: string;
}

export interface DiskTree {
  /** By location. */
  packages: ReadonlyMap<string, DiskPackage>;
  /** Folders that are links to somewhere else, by location. */
  links: ReadonlySet<string>;
  /** Everything that could not be read or parsed. */
  faults: readonly string[];
}

/**
 * Reads the packages below `folder`/node_modules, following no link. A missing folder has no packages. Anything
 * unreadable is a fault, so that a damaged tree never looks like a small one.
 */
export async function readTree(folder: string): Promise<DiskTree> {
  const packages = new Map<string, DiskPackage>();
  const links = new Set<string>();
  const faults: string[] = [];
  const open = [{ location: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const child of await listFolders(folder, next.location, faults)) {
      const location = childOf(next.location, child.name);
      if (child.isLink) {
        links.add(location);
        continue;
      }
      if (packages.size >= LOCKFILE_MAX_PACKAGES) {
        faults.push(`there are more than ${LOCKFILE_MAX_PACKAGES} packages in ${folder}`);
        return { packages, links, faults };
      }
      const found = await readPackage(folder, location);
      if (found.ok) packages.set(location, { location, ...found.value });
      else faults.push(found.reason);
      if (next.depth + 1 >= NESTING_MAX) faults.push(`${location} is nested too deep`);
      else open.push({ location, depth: next.depth + 1 });
    }
  }
  return { packages, links, faults };
}

interface Child {
  name: string;
  isLink: boolean;
}

/**
 * The package folders of one node_modules. Names with a leading dot are npm's own: `.bin`, packages being
 * replaced.
 */
async function listFolders(folder: string, location: string, faults: string[]): Promise<Child[]> {
  const path = join(folder, location, 'node_modules');
  const children: Child[] = [];
  for (const entry of await list(path, faults)) {
    if (entry.name.startsWith('.') || !(entry.isDirectory() || entry.isSymbolicLink())) continue;
    if (!entry.name.startsWith('@')) {
      children.push({ name: entry.name, isLink: entry.isSymbolicLink() });
      continue;
    }
    if (entry.isSymbolicLink()) faults.push(`${join(path, entry.name)} is a link`);
    else {
      for (const scoped of await list(join(path, entry.name), faults)) {
        if (scoped.name.startsWith('.') || !(scoped.isDirectory() || scoped.isSymbolicLink())) continue;
        children.push({ name: `${entry.name}/${scoped.name}`, isLink: scoped.isSymbolicLink() });
      }
    }
  }
  const sound = children.filter(({ name }) => isName(name));
  if (sound.length < children.length)
    faults.push(`${path} holds a folder that is named as no package can be`);
  return sound;
}

async function list(path: string, faults: string[]) {
  try {
    const stat = await lstat(path);
    if (!stat.isDirectory()) {
      faults.push(`${path} is not a folder`);
      return [];
    }
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') faults.push(`${path} cannot be read (${errorCode(error)})`);
    return [];
  }
}

type Found = { ok: true; value: Static<typeof Identity> } | { ok: false; reason: string };

async function readPackage(folder: string, location: string): Promise<Found> {
  const path = join(folder, location, 'package.json');
  const text = await readBounded(path, MANIFEST_MAX_BYTES);
  if (!text.ok) return text;
  const value = parseLoosely(text.value);
  if (!Check(Identity, value) || !isSafeArgument(value)) {
    return { ok: false, reason: `${path} does not name a package and its version` };
  }
  return { ok: true, value: { name: value.name, version: value.version } };
}

/** Lenient: published package.json files may repeat a key or start with a byte order mark, and npm accepts them. */
export function parseLoosely(text: string): unknown {
  const strict = parseStrictJson(text);
  if (strict.ok) return strict.value;
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return null;
  }
}

/** Reads a plain file of at most `maxBytes`; neither a link nor a pipe. */
export async function readBounded(
  path: string,
  maxBytes: number,
): Promise<{ ok: true; value: string } | { ok: false; reason: string }> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) return { ok: false, reason: `${path} is not a plain file` };
      if (stat.size > maxBytes) return { ok: false, reason: `${path} is larger than ${maxBytes} bytes` };
      return { ok: true, value: await handle.readFile('utf8') };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return { ok: false, reason: `${path} cannot be read (${errorCode(error)})` };
  }
}
