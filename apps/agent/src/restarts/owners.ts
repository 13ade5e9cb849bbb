import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StaleService } from '@tidegate/protocol/restarts';
import { PackageName } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import { findAptPlaces } from '../ecosystems/apt/installed.ts';
import { findDnfPlaces, isDnfHost } from '../ecosystems/dnf/places.ts';
import { withDnfSession } from '../ecosystems/dnf/session.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { runProgram } from '../platform/run-program.ts';

/** Most files whose package is asked for. */
export const OWNERS_MAX = 64;
const LIMITS = { timeoutMs: 30_000, maxOutputBytes: 256 * 1024 };
/** No pattern of dpkg-query and no option: the names come from processes of others. */
const PLAIN_PATH = /^\/[A-Za-z0-9_.+:@%,=~/-]{1,255}$/;

/** Adds the package of each file where the package manager knows one. */
export async function nameOwners(paths: HostPaths, stale: readonly StaleService[]): Promise<StaleService[]> {
  const files = new Set(stale.flatMap((service) => service.files.map(({ path }) => path)));
  const asked = [...files].filter((path) => PLAIN_PATH.test(path)).slice(0, OWNERS_MAX);
  if (asked.length === 0) return [...stale];
  const owners = await findOwners(paths, asked);
  return stale.map((service) => ({
    ...service,
    files: service.files.map((file) => {
      const owner = owners.get(file.path);
      return owner !== undefined && Check(PackageName, owner) ? { ...file, package: owner } : file;
    }),
  }));
}

async function findOwners(paths: HostPaths, files: readonly string[]): Promise<Map<string, string>> {
  if (await isDnfHost(paths)) return askRpm(paths, files);
  return (await aptDriver.present(paths)) ? askDpkg(paths, files) : new Map();
}

async function askDpkg(paths: HostPaths, files: readonly string[]): Promise<Map<string, string>> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return new Map();
  // Where /lib is a link to /usr/lib, packages may still list their files below /lib.
  const spellings = files.flatMap((path) => (path.startsWith('/usr/') ? [path, path.slice(4)] : [path]));
  const args = ['--admindir', places.value.adminDir, '-S', '--', ...spellings];
  const { stdout } = await runProgram({ program: 'dpkg-query', args, ...LIMITS });
  const owners = new Map<string, string>();
  for (const line of stdout.split('\n')) {
    const [, name, path] = /^([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9-]+)?: (\/.*)$/.exec(line) ?? [];
    if (name === undefined || path === undefined) continue;
    for (const spelling of [path, `/usr${path}`]) if (!owners.has(spelling)) owners.set(spelling, name);
  }
  return owners;
}

/** rpm answers in the order of the question, a line for each file that it owns exactly once. */
async function askRpm(paths: HostPaths, files: readonly string[]): Promise<Map<string, string>> {
  const places = await findDnfPlaces(paths);
  if (!places.ok) return new Map();
  const { root } = places.value;
  const present = files.filter((path) => existsSync(join(root, path)));
  if (present.length === 0) return new Map();
  const args = ['-qf', '--qf', '%{NAME}\n', '--', ...present];
  const { stdout } = await withDnfSession(places.value, null, (session) => session.rpm(args, LIMITS));
  const lines = stdout.split('\n').slice(0, -1);
  if (lines.length !== present.length) return new Map();
  const owned = present.map((path, index): [string, string] => [path, lines[index] ?? '']);
  return new Map(owned.filter(([, name]) => /^[A-Za-z0-9][\w.+-]*$/.test(name)));
}
