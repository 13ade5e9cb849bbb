import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BaseLock, type DebianArch, readBaseLock } from './base-lock.ts';
import { cachedFolder } from './cached-folder.ts';
import { type DebianArchive, mustBePinned, openDebianArchive } from './debian-archive.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/tidegate-release/debian');

/** A package of Debian, unpacked. */
export interface BasePackage {
  name: string;
  version: string;
  sha256: string;
  /** The source package, which advisories of Debian name. */
  source: string;
  /** The text of its entry in dpkg's database. */
  control: string;
  folder: string;
}

export interface Base {
  suite: string;
  release: string;
  arch: DebianArch;
  packages: BasePackage[];
}

/** The packages of base.lock.json for one architecture, each refused unless its SHA-256 is the one in there. */
export function basePackages(arch: DebianArch, lock = readBaseLock()): Base {
  const { suite, release, packages } = lock;
  let archive: DebianArchive | null = null;
  const open = () => {
    archive ??= openDebianArchive(suite, arch);
    return archive;
  };
  try {
    const found = Object.entries(packages[arch]).map(([name, pinned]) => unpacked({ name, ...pinned }, open));
    return { suite, release, arch, packages: found };
  } finally {
    closeIfOpen(archive);
  }
}

function closeIfOpen(archive: DebianArchive | null): void {
  archive?.close();
}

type Pinned = { name: string } & BaseLock['packages'][DebianArch][string];

/** The hash names the folder: what is there has been verified. */
function unpacked({ name, version, sha256 }: Pinned, open: () => DebianArchive): BasePackage {
  const folder = cachedFolder(join(CACHE, sha256), (work) => {
    const file = downloaded({ name, version }, work, open());
    mustBePinned(file, { name, sha256 });
    const made = join(work, 'unpacked');
    mkdirSync(made);
    execFileSync('dpkg-deb', ['--extract', file, join(made, 'files')]);
    execFileSync('dpkg-deb', ['--control', file, join(made, 'control')]);
    return made;
  });
  const control = readFileSync(join(folder, 'control/control'), 'utf8');
  const [, source = name] = /^Source: (\S+)/m.exec(control) ?? [];
  return { name, version, sha256, source, control, folder: join(folder, 'files') };
}

function downloaded(
  { name, version }: Pick<Pinned, 'name' | 'version'>,
  folder: string,
  archive: DebianArchive,
): string {
  try {
    return archive.download(name, version, folder);
  } catch (cause) {
    const todo =
      'Debian keeps only the newest: node scripts/lock-container-base.ts takes it into base.lock.json';
    throw new Error(`${name} ${version} cannot be had from Debian's archive. ${todo}`, { cause });
  }
}
