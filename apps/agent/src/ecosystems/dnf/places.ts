import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, runProgram } from '../../platform/run-program.ts';
import type { HostPaths } from '../ecosystem.ts';

/** `ok` with the value, or the reason. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; reason: string };

/** The generation of dnf that answers. */
export type Flavour = 'dnf4' | 'dnf5';

export interface DnfPlaces {
  /** `/`, or the install root of a throw-away host. */
  root: string;
  flavour: Flavour;
  /** The interpreter that has the modules of dnf. */
  python: string;
  /** The folder of rpm's database, as the host's own path. */
  database: string;
}

const RPM_TIMEOUT_MS = 20_000;
const RPM_OUTPUT_MAX_BYTES = 64 * 1024;
/** RHEL 8 separates the system's interpreter from those that administrators choose. */
const INTERPRETERS = ['/usr/libexec/platform-python', '/usr/bin/python3'];
/** Candidates below an install root, where rpm's default may belong to another distribution. */
const DATABASE_FOLDERS = ['usr/lib/sysimage/rpm', 'var/lib/rpm'];
const DATABASE_FILES = ['rpmdb.sqlite', 'Packages.db', 'Packages'];

/**
 * Whether this is a dnf host. The programs alone prove little: Debian packages rpm and dnf for image builders. It
 * is one when the administrator names an install root, or when rpm's database exists and does not deny that rpm
 * itself is installed. The scan reports a database that cannot answer.
 */
export async function isDnfHost({ dnfRoot }: HostPaths): Promise<boolean> {
  if (dnfRoot !== null) return true;
  if ((await findFlavour()) === null || (await findProgram('rpm')) === null) return false;
  const database = await findDatabase(null);
  if (database === null || !(await hasDatabase(database))) return false;
  const self = await runRpm(['-q', '--qf', 'present', 'rpm']);
  return self.ok || self.stdout.trim() !== 'package rpm is not installed';
}

/** Finds the interpreter and the database; nothing is started but rpm. */
export async function findDnfPlaces({ dnfRoot }: HostPaths): Promise<Parsed<DnfPlaces>> {
  const flavour = await findFlavour();
  if (flavour === null) return { ok: false, reason: 'dnf is not installed' };
  if ((await findProgram('rpm')) === null) return { ok: false, reason: 'rpm is not installed' };
  const pythons = await Promise.all(INTERPRETERS.map(findProgram));
  const python = pythons.find((path) => path !== null) ?? null;
  if (python === null) return { ok: false, reason: 'the Python of dnf is not installed' };
  const database = await findDatabase(dnfRoot);
  if (database === null) return { ok: false, reason: "rpm's database is not there" };
  return { ok: true, value: { root: dnfRoot ?? '/', flavour, python, database } };
}

/** A host may have both; the older one's module is tested on real hosts. */
async function findFlavour(): Promise<Flavour | null> {
  if ((await findProgram('dnf-3')) !== null) return 'dnf4';
  return (await findProgram('dnf5')) === null ? null : 'dnf5';
}

async function findDatabase(dnfRoot: string | null): Promise<string | null> {
  if (dnfRoot === null) {
    const asked = await runRpm(['--eval', '%{_dbpath}']);
    return asked.ok && asked.stdout.startsWith('/') ? asked.stdout.trim() : null;
  }
  for (const folder of DATABASE_FOLDERS.map((path) => join(dnfRoot, path))) {
    if (await hasDatabase(folder)) return folder;
  }
  return null;
}

async function hasDatabase(folder: string): Promise<boolean> {
  for (const name of DATABASE_FILES) {
    const found = await access(join(folder, name)).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}

function runRpm(args: readonly string[]) {
  const limits = { timeoutMs: RPM_TIMEOUT_MS, maxOutputBytes: RPM_OUTPUT_MAX_BYTES };
  return runProgram({ program: 'rpm', args, ...limits });
}
