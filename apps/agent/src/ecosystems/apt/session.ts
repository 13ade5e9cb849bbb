import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Identity, type ProgramResult, runProgram } from '../../platform/run-program.ts';
import type { HostPaths } from '../ecosystem.ts';
import { removeAsUser, transferFolder } from '../folder-ownership.ts';

/** Reading the package cache and resolving take seconds; longer on a slow disk. */
const APT_TIMEOUT_MS = 120_000;
/** Records of 20,000 packages take about 40 MB. */
const APT_OUTPUT_MAX_BYTES = 128 * 1024 * 1024;

/** Overrides of the host's configuration, so that every run decides alike and no check is disabled. */
export const FIXED_OPTIONS = [
  'Debug::NoLocking=1',
  'Acquire::ForceHash=SHA256', // without it apt names MD5, or nothing
  'APT::Get::AutomaticRemove=false',
  'APT::Get::Purge=false',
  'APT::Get::AllowUnauthenticated=false',
  'APT::Sandbox::User=root', // the download user is chosen here; apt would chown folders to its own user
  'APT::Get::Show-User-Simulation-Note=false',
].flatMap((option) => ['-o', option]);

/** Queries to apt that share one private cache: the second costs a tenth of the first. */
export interface AptSession {
  readonly paths: HostPaths;
  /** Empty, because apt omits files in its archives directory from `--print-uris`. */
  readonly archives: string;
  run(program: 'apt-get' | 'apt-cache' | 'apt-mark', args: readonly string[]): Promise<ProgramResult>;
}

export interface SessionOptions {
  /** The user apt runs as; only root can choose. */
  identity?: Identity | null;
  /** Replaces the empty archives directory. */
  archives?: string;
}

/** Opens a session in a private directory, removed when it closes. Needs neither root nor dpkg's lock. */
export async function withAptSession<T>(
  paths: HostPaths,
  work: (session: AptSession) => Promise<T>,
  { identity = null, archives: given }: SessionOptions = {},
): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), 'tidegate-apt-'));
  // This process owns the parent folder: the other user could replace a folder of their own by a link.
  const own = join(root, 'own');
  try {
    const archives = given ?? join(own, 'archives');
    await mkdir(own, { mode: 0o700 });
    if (given === undefined) await mkdir(join(archives, 'partial'), { recursive: true, mode: 0o700 });
    await transferFolder(own, identity);
    await chmod(root, 0o711);
    const options = [...FIXED_OPTIONS, ...cacheOptions(own, archives)];
    return await work({
      paths,
      archives,
      run: (program, args) =>
        runProgram({
          program,
          args: [...options, ...args],
          timeoutMs: APT_TIMEOUT_MS,
          maxOutputBytes: APT_OUTPUT_MAX_BYTES,
          env: aptEnvironment(paths),
          identity,
          cwd: archives,
        }),
    });
  } finally {
    if (identity !== null) await removeAsUser(identity, [own]);
    await rm(root, { recursive: true, force: true });
  }
}

/** The environment that points apt at this host. */
export function aptEnvironment(paths: HostPaths): Record<string, string> {
  return paths.aptConfig === null ? {} : { APT_CONFIG: paths.aptConfig };
}

function cacheOptions(root: string, archives: string): string[] {
  return [
    `Dir::Cache=${root}/`,
    `Dir::Cache::archives=${archives}/`,
    `Dir::Cache::pkgcache=${join(root, 'pkgcache.bin')}`,
    `Dir::Cache::srcpkgcache=${join(root, 'srcpkgcache.bin')}`,
    'Dir::Log::Planner=', // as root even a simulation would write /var/log/apt/eipp.log.xz, and take a sixth longer
  ].flatMap((option) => ['-o', option]);
}

/** How one version of a package is named to apt. `all` cannot be requested as an architecture. */
export function pin(pkg: { name: string; arch?: string | undefined; version: string }): string {
  const { name, arch, version } = pkg;
  return `${arch === undefined || arch === 'all' ? name : `${name}:${arch}`}=${version}`;
}

/** The same for `apt-get install`, which treats a `+` at the end of a version as an operator. */
export function installPin(pkg: { name: string; arch?: string | undefined; version: string }): string {
  return pkg.version.endsWith('+') ? `${pin(pkg)}+` : pin(pkg);
}

/** How apt writes a package in its answers: with its architecture only where that is a foreign one. */
export function shownName(pkg: { name: string; arch?: string | undefined }, nativeArch: string): string {
  const { name, arch } = pkg;
  return arch === undefined || arch === 'all' || arch === nativeArch ? name : `${name}:${arch}`;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9+._-]{0,213}$/;
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+~:-]{0,255}$/;
const ARCH = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** Whether the words are safe as arguments: apt reads none of them as an option or a pattern. */
export function isSafeArgument(pkg: { name: string; arch?: string | undefined; version: string }): boolean {
  return NAME.test(pkg.name) && VERSION.test(pkg.version) && (pkg.arch === undefined || ARCH.test(pkg.arch));
}
