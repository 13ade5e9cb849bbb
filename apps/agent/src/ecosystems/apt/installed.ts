import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isAnyLocked } from '../../platform/find-lock.ts';
import { runProgram } from '../../platform/run-program.ts';
import type { HostPaths } from '../ecosystem.ts';
import type { Parsed } from './parse-transaction.ts';
import { aptEnvironment } from './session.ts';

const DPKG_TIMEOUT_MS = 60_000;
const DPKG_OUTPUT_MAX_BYTES = 32 * 1024 * 1024;

export interface InstalledPackage {
  name: string;
  arch: string;
  version: string;
  sourceName: string;
  sourceVersion: string;
  held: boolean;
  /** Essential to the system: a plan never removes it. */
  essential: boolean;
}

/** apt's own folders, from its configuration. */
export interface AptPlaces {
  statusFile: string;
  adminDir: string;
  listsDir: string;
  /** The folder of apt's configuration. */
  etcDir: string;
  nativeArch: string;
}

export interface InstalledState {
  packages: InstalledPackage[];
  /** Why the database may be incomplete; empty when it is complete. */
  faults: string[];
  /** Packages that are installed or configured by half, in dpkg's own words. */
  broken: BrokenPackage[];
}

export interface BrokenPackage {
  name: string;
  arch: string;
  version: string;
  state: string;
}

const FIELDS = [
  ...['Package', 'Architecture', 'Version', 'source:Package', 'source:Version'],
  ...['db:Status-Want', 'db:Status-Status', 'db:Status-Eflag', 'Essential', 'Protected'],
];
const FORMAT = `${FIELDS.map((field) => `\${${field}}`).join('\\t')}\\n`;

/** Asks apt where its files are. */
export async function findAptPlaces(paths: HostPaths): Promise<Parsed<AptPlaces>> {
  // apt only warns about a missing configuration file and continues with the real host.
  if (paths.aptConfig !== null && !(await isReadable(paths.aptConfig))) {
    return { ok: false, reason: `${paths.aptConfig} cannot be read` };
  }
  const args = [
    'shell',
    'STATUS',
    'Dir::State::status/f',
    'LISTS',
    'Dir::State::lists/d',
    'ARCH',
    'APT::Architecture',
    'ETC',
    'Dir::Etc/d',
  ];
  const answer = await runDpkg('apt-config', args, aptEnvironment(paths));
  if (!answer.ok) return { ok: false, reason: answer.detail };
  const values = new Map<string, string>();
  for (const line of answer.stdout.split('\n')) {
    const [, key, value] = /^([A-Z]+)='([^']*)'$/.exec(line) ?? [];
    if (key !== undefined && value) values.set(key, value);
  }
  const statusFile = values.get('STATUS');
  const listsDir = values.get('LISTS');
  const nativeArch = values.get('ARCH');
  const etcDir = values.get('ETC');
  if (!statusFile || !listsDir || !nativeArch || !etcDir)
    return { ok: false, reason: 'apt does not report its folders' };
  return { ok: true, value: { statusFile, adminDir: dirname(statusFile), listsDir, nativeArch, etcDir } };
}

/** Reads dpkg's database. Partly installed packages are omitted and reported as faults. */
export async function readInstalled({ adminDir }: AptPlaces): Promise<Parsed<InstalledState>> {
  const answer = await runDpkg('dpkg-query', ['--admindir', adminDir, '-W', '-f', FORMAT]);
  if (!answer.ok) return { ok: false, reason: answer.detail };
  return parseInstalled(answer.stdout);
}

/** Reads the lines of `dpkg-query -W` in the form of `FIELDS`. */
export function parseInstalled(output: string): Parsed<InstalledState> {
  const packages: InstalledPackage[] = [];
  const faults: string[] = [];
  const broken: BrokenPackage[] = [];
  for (const line of output.split('\n')) {
    if (line === '') continue;
    const parts = line.split('\t');
    const [name, arch, version, sourceName, sourceVersion, want, status, flag, essential, isProtected] =
      parts;
    if (parts.length !== FIELDS.length || !name || !status) {
      return {
        ok: false,
        reason: `a line of dpkg-query cannot be read: ${JSON.stringify(line.slice(0, 200))}`,
      };
    }
    const half = { name, arch: arch ?? '', version: version ?? '' };
    if (flag !== 'ok') {
      faults.push(`${name} needs to be installed again`);
      broken.push({ ...half, state: 'to be installed again' });
    }
    if (status === 'not-installed' || status === 'config-files') continue;
    // Pending triggers do not make a package unusable; every other intermediate state is broken.
    if (status !== 'installed' && !status.startsWith('triggers-')) {
      faults.push(`${name} is ${status}`);
      if (flag === 'ok') broken.push({ ...half, state: status });
      continue;
    }
    if (!arch || !version || !sourceName || !sourceVersion) {
      return { ok: false, reason: `dpkg-query leaves out facts of ${name}` };
    }
    packages.push({
      ...{ name, arch, version, sourceName, sourceVersion },
      held: want === 'hold',
      essential: essential === 'yes' || isProtected === 'yes',
    });
  }
  return { ok: true, value: { packages, faults, broken } };
}

/** Detects another program that is changing the database or was interrupted. */
export async function findDatabaseFaults(places: AptPlaces): Promise<string[]> {
  return [
    ...((await isInterrupted(places)) ? ['dpkg was interrupted: run dpkg --configure -a'] : []),
    ...((await isLocked(places)) ? ['another program is changing packages'] : []),
  ];
}

/** Whether dpkg ended before it had written its database. */
export async function isInterrupted({ adminDir }: AptPlaces): Promise<boolean> {
  const pending = await readdir(join(adminDir, 'updates')).catch(() => []);
  return pending.some((name) => /^\d+$/.test(name));
}

/** Whether another program holds one of dpkg's locks. */
export function isLocked({ adminDir }: AptPlaces): Promise<boolean> {
  return isAnyLocked(['lock-frontend', 'lock'].map((name) => join(adminDir, name)));
}

/** Changes whenever dpkg writes its database. */
export async function databaseMark({ statusFile }: AptPlaces): Promise<string> {
  const file = await stat(statusFile, { bigint: true });
  return `${file.ino}:${file.size}:${file.mtimeNs}`;
}

function isReadable(path: string): Promise<boolean> {
  return access(path, constants.R_OK).then(
    () => true,
    () => false,
  );
}

function runDpkg(program: string, args: readonly string[], env: Record<string, string> = {}) {
  const limits = { timeoutMs: DPKG_TIMEOUT_MS, maxOutputBytes: DPKG_OUTPUT_MAX_BYTES };
  return runProgram({ program, args, env, ...limits });
}
