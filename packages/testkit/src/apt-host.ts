import { chmod, realpath, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type AptArchive, createAptArchive } from './apt-archive.ts';
import { dpkgOptions, openToReaders, writeAptHostFiles } from './apt-host-files.ts';
import { type AptPackage, type AptSet, DEMO } from './apt-packages.ts';
import { keepOriginal } from './keep-original.ts';
import { findTool, runTool, SYSTEM_PATH } from './run-tool.ts';
import { serveFolder } from './serve-folder.ts';

/** Why no apt host can be made here, or null when one can. */
export function aptHostMissing(): string | null {
  const needed = { 'apt-get': 'apt', 'apt-ftparchive': 'apt-utils', dpkg: 'dpkg', 'dpkg-deb': 'dpkg' };
  const missing = Object.entries(needed).filter(([tool]) => findTool(tool) === null);
  if (missing.length === 0) return null;
  return missing.map(([tool, brings]) => `${tool} is not installed (package ${brings})`).join('; ');
}

export type AptHostOptions = {
  /** What is installed and offered; several sets are put together. `DEMO` unless given. */
  packages?: readonly AptSet[];
  /** How apt reaches the archive; `http` is a real download, from a loopback server in this process. */
  transport?: 'file' | 'http';
  /** Over `http`, a file is sent once this has ended. */
  untilSent?: (path: string) => Promise<void>;
  /** Architectures whose packages it takes beside its own. */
  foreign?: readonly string[];
};

/** A throw-away host with a package database of its own; nothing of the real one is read or changed. */
export type AptHost = {
  /** The file to point APT_CONFIG at. */
  readonly aptConf: string;
  /** dpkg's database, for `dpkg-query --admindir`. */
  readonly adminDir: string;
  /** The root folder of the host's files. */
  readonly root: string;
  readonly archive: AptArchive;
  /** The environment in which apt and dpkg-query mean this host. */
  readonly env: { APT_CONFIG: string; DPKG_ADMINDIR: string; LC_ALL: string; PATH: string };
  /** Names and versions of what is fully installed. */
  installed(): Promise<Map<string, string>>;
  /** Adds packages to the archive and makes them known to it and to the host. */
  publish(...packages: AptPackage[]): Promise<void>;
  /** Takes files out of the archive, as distributions do with superseded versions. */
  withdraw(...packages: { name: string; version: string }[]): Promise<void>;
  /**
   * Brings back the packages and versions that the host was made with, and what else lay on it at the first call; the
   * archive stays as it is, and so does what apt knows of it.
   */
  rollBack(): Promise<void>;
  /** The file of a package in the archive, main or security. Throws where none was published. */
  debPath(name: string, version: string): string;
  /** Runs dpkg on this host, as a person on it would. */
  dpkg(...args: string[]): Promise<string>;
  /** Paths that were fetched over http, in order. */
  readonly fetched: string[];
  /** Ends the http server, where there is one. The folder stays. */
  stop(): Promise<void>;
};

/**
 * Makes the host in `dir`, which every user must be able to reach (`dir` itself is opened). Needs neither root nor
 * network. The archive is unsigned and trusted: what is tested is the chain from its index to the files.
 */
export async function createAptHost(dir: string, options: AptHostOptions = {}): Promise<AptHost> {
  const base = await realpath(dir);
  await chmod(base, 0o755);
  const sets = options.packages ?? [DEMO];
  const original = sets.flatMap((set) => set.installed);
  const published = [...original, ...sets.flatMap((set) => set.offered)];
  const archive = await createAptArchive(join(base, 'archive'), options.foreign);
  const root = join(base, 'host');
  const aptConf = join(base, 'apt.conf');
  const adminDir = join(root, 'var/lib/dpkg');
  const env = { APT_CONFIG: aptConf, DPKG_ADMINDIR: adminDir, LC_ALL: 'C', PATH: SYSTEM_PATH };
  const fetched: string[] = [];
  const server =
    options.transport === 'http' ? await serveFolder(archive.folder, fetched, options.untilSent) : null;

  const dpkg = (args: string[], input = '') =>
    runTool('dpkg', [...dpkgOptions(root), ...args], { env, input });
  const debPath: AptHost['debPath'] = (name, version) => {
    // The newest publication counts: a version may have moved to another archive.
    const pkg = published.findLast((candidate) => candidate.name === name && candidate.version === version);
    if (pkg === undefined) throw new RangeError(`${name} ${version} was never published`);
    return archive.debPath(pkg);
  };

  /** One line of fields for each package that dpkg knows, also half-installed ones. */
  async function query(...fields: string[]): Promise<string[][]> {
    const format = `${fields.map((field) => `\${${field}}`).join(' ')}\n`;
    const lines = await runTool('dpkg-query', ['-W', '-f', format], { env });
    return lines.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')]));
  }

  async function installed(): Promise<Map<string, string>> {
    const rows = await query('Package', 'Version', 'db:Status-Status');
    return new Map(
      rows.flatMap(([name, version, status]) =>
        name && version && status === 'installed' ? [[name, version]] : [],
      ),
    );
  }

  async function refresh(): Promise<void> {
    await archive.reindex();
    await runTool('apt-get', ['-qq', 'update'], { env });
    await openToReaders(root);
  }

  async function installOriginal(): Promise<void> {
    const debs = original.map((pkg) => archive.debPath(pkg));
    // In one call a package is unpacked before what it pre-depends on is set up.
    const force = ['--force-downgrade', '--force-confnew', '--force-depends'];
    if (debs.length > 0) await dpkg([...force, '--install', ...debs]);
    const holds = sets.flatMap((set) => set.held ?? []).map((name) => `${name} hold\n`);
    if (holds.length > 0) await dpkg(['--set-selections'], holds.join(''));
  }

  let bringBack: (() => Promise<void>) | null = null;

  async function rollBack(): Promise<void> {
    if (bringBack === null) {
      await reinstall();
      bringBack = await keepOriginal(root);
      return;
    }
    const [lists, aside] = [join(root, 'var/lib/apt/lists'), join(base, 'lists')];
    await rename(lists, aside);
    await bringBack();
    await rm(lists, { recursive: true });
    await rename(aside, lists);
  }

  async function reinstall(): Promise<void> {
    const present = (await query('binary:Package')).flat();
    // All go first, so that conflicts and half-configured leavings of a failed update are gone too.
    if (present.length > 0) await dpkg(['--force-all', '--purge', ...present]);
    await installOriginal();
  }

  try {
    await archive.add(published);
    const uri = server?.url ?? `file:${archive.folder}`;
    const { foreign = [] } = options;
    const { architecture } = archive;
    await writeAptHostFiles({ root, adminDir, aptConf, uri, architecture }, [architecture, ...foreign]);
    for (const arch of foreign) await dpkg(['--add-architecture', arch]);
    await refresh();
    await installOriginal();
  } catch (error) {
    await server?.stop();
    throw error;
  }

  return {
    aptConf,
    adminDir,
    root,
    archive,
    env,
    installed,
    publish: async (...packages) => {
      await archive.add(packages);
      published.push(...packages);
      await refresh();
    },
    withdraw: async (...packages) => {
      for (const { name, version } of packages) await rm(debPath(name, version));
      await refresh();
    },
    rollBack,
    debPath,
    dpkg: (...args) => dpkg(args),
    fetched,
    stop: async () => server?.stop(),
  };
}
