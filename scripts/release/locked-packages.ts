import { execFileSync } from 'node:child_process';
import { createHash, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { cachedFolder } from './cached-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/tidegate-release');

const Entry = Type.Object({
  version: Type.String(),
  integrity: Type.Optional(Type.String({ pattern: '^sha512-' })),
  license: Type.Optional(Type.String()),
  link: Type.Optional(Type.Boolean()),
});
const Lockfile = Type.Object({ packages: Type.Record(Type.String(), Type.Partial(Entry)) });

export interface LockedPackage {
  name: string;
  /** As the lockfile names it: another version may be installed inside another package. */
  path: string;
  version: string;
  /** `sha512-` and base64, of the registry's archive. */
  integrity: string;
  license: string | null;
}

let lockfile: Readonly<Record<string, unknown>> | null = null;

/** What the lockfile says of the package at this path, such as `node_modules/ajv`. Throws if it is not in there. */
export function lockedEntry(path: string): LockedPackage {
  lockfile ??= Value.Parse(
    Lockfile,
    JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')),
  ).packages;
  const entry = lockfile[path];
  if (!Value.Check(Entry, entry) || entry.integrity === undefined) {
    throw new Error(`${path} is not in package-lock.json with an integrity`);
  }
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  return { name, path, version: entry.version, integrity: entry.integrity, license: entry.license ?? null };
}

/**
 * The folder of a package of the lockfile, also one that npm did not install here because it is for another system. That
 * one is taken from the registry by the name and version of the lockfile, and refused unless its SHA-512 is the one in there.
 */
export function lockedPackage(name: string): string {
  return folderOf(lockedEntry(`node_modules/${name}`));
}

/** The same, of an entry. */
export function folderOf({ name, path, version, integrity }: LockedPackage): string {
  const installed = join(ROOT, path);
  if (existsSync(join(installed, 'package.json'))) return installed;
  return cachedFolder(join(CACHE, `${name.replace('/', '+')}-${version}`), (work) => {
    const pack = ['pack', '--silent', '--pack-destination', work, `${name}@${version}`];
    const archive = join(work, execFileSync('npm', pack, { cwd: work, encoding: 'utf8' }).trim());
    const actual = createHash('sha512').update(readFileSync(archive)).digest();
    const wanted = Buffer.from(integrity.slice('sha512-'.length), 'base64');
    if (wanted.length !== actual.length || !timingSafeEqual(wanted, actual)) {
      throw new Error(
        `${name}@${version} is not the archive that package-lock.json names: its SHA-512 differs`,
      );
    }
    execFileSync('tar', ['-xzf', archive, '-C', work, '--no-same-owner']);
    return join(work, 'package');
  });
}
