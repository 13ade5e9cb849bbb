import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { lackOfSpace } from '../../platform/disk-space.ts';
import { runProgram } from '../../platform/run-program.ts';
import type { HostPaths } from '../ecosystem.ts';
import type { HostTrouble } from '../host-trouble.ts';
import {
  type AptPlaces,
  findAptPlaces,
  type InstalledState,
  isInterrupted,
  isLocked,
  readInstalled,
} from './installed.ts';

/** Maximum number of packages named in a reason. */
const NAMED_MAX = 10;
const SIZES_TIMEOUT_MS = 60_000;
const SIZES_OUTPUT_MAX_BYTES = 8 * 1024 * 1024;
/** dpkg's database, logs and caches grow too. */
const RESERVE_BYTES = 32 * 1024 * 1024;
const KIB = 1_024;
const SIZE_FORMAT = `\${Package}:\${Architecture}\\t\${Installed-Size}\\n`;

export const MEND_APT =
  'as root: run `dpkg --configure -a`, then `apt-get -f install`, and look at what still fails';

/** What is wrong with the host's packages at this moment; null when nothing is. For `doctor`. */
export async function findAptTrouble(paths: HostPaths): Promise<HostTrouble | null> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return null;
  const installed = await readInstalled(places.value);
  if (!installed.ok) return null;
  return (
    (await findUnfinished(places.value, installed.value, [])) ??
    (await findLock(places.value, { waitMs: 0, pause: async () => {} })) ??
    findFullDisk(places.value)
  );
}

/**
 * An interrupted dpkg, or packages that are installed or configured by half: apt would finish any of them along
 * with ours, and so run maintainer scripts that nobody approved. Packages of the approval itself are excepted.
 */
export async function findUnfinished(
  places: AptPlaces,
  { broken }: Pick<InstalledState, 'broken'>,
  approved: readonly PlanAction[],
): Promise<HostTrouble | null> {
  if (await isInterrupted(places)) {
    const detail = `dpkg was interrupted and its database is unfinished; ${MEND_APT}`;
    return { reason: 'transaction_interrupted', detail };
  }
  const ours = new Set(approved.map(({ name, arch }) => `${name}:${arch}`));
  const others = broken.filter(({ name, arch }) => !ours.has(`${name}:${arch}`));
  if (others.length === 0) return null;
  const named = others
    .slice(0, NAMED_MAX)
    .map(({ name, version, state }) => `${name} ${version} is ${state}`);
  const more = others.length > NAMED_MAX ? ` and ${others.length - NAMED_MAX} more` : '';
  return { reason: 'packages_broken', detail: `${named.join(', ')}${more}; ${MEND_APT}` };
}

/** Whether there is no room for any installation at all. */
export function findFullDisk(places: AptPlaces): HostTrouble | null {
  return compareSpace(places, RESERVE_BYTES);
}

/** Whether another program still changes packages after `waitMs`. */
export async function findLock(
  places: AptPlaces,
  { waitMs, pause }: { waitMs: number; pause: (ms: number) => Promise<unknown> },
): Promise<HostTrouble | null> {
  const untilMs = performance.now() + waitMs;
  while (await isLocked(places)) {
    if (performance.now() >= untilMs) {
      const seconds = Math.round(waitMs / 1_000);
      const held = seconds === 0 ? "holds dpkg's lock" : `has held dpkg's lock for ${seconds} s`;
      const detail = `another program ${held}; see \`fuser -v ${join(places.adminDir, 'lock-frontend')}\``;
      return { reason: 'packages_locked', detail };
    }
    await pause(1_000);
  }
  return null;
}

/**
 * Whether the files of the staged packages fit (Installed-Size, less what they replace, and once more the largest,
 * which dpkg unpacks beside the old one). Null when they do or when the sizes are not known.
 */
export async function findShortage(
  places: AptPlaces,
  { rest, stage }: { rest: readonly PlanAction[]; stage: string },
): Promise<HostTrouble | null> {
  const coming: number[] = [];
  for (const { artifact } of rest) {
    if (artifact === undefined) continue;
    const said = await ask('dpkg-deb', ['-f', join(stage, artifact.filename), 'Installed-Size']);
    coming.push(Number(said.trim()) * KIB || 0);
  }
  const sizes = await ask('dpkg-query', ['--admindir', places.adminDir, '-W', '-f', SIZE_FORMAT]);
  const present = new Map(
    sizes.split('\n').map((line) => {
      const [key = '', kib = ''] = line.split('\t');
      return [key, Number(kib) * KIB || 0];
    }),
  );
  const going = rest.map(({ name, arch, from_version: from }) =>
    from === undefined ? 0 : (present.get(`${name}:${arch}`) ?? 0),
  );
  const largest = coming.reduce((most, size) => Math.max(most, size), 0);
  const needBytes = Math.max(0, sum(coming) - sum(going)) + largest + RESERVE_BYTES;
  return compareSpace(places, needBytes);
}

function compareSpace(places: AptPlaces, needBytes: number): HostTrouble | null {
  const lack = lackOfSpace(folderOfFiles(places), needBytes);
  if (lack === null) return null;
  const detail = `the installation ${lack}; free some there (\`apt-get clean\`, old kernels, logs)`;
  return { reason: 'space_insufficient', detail };
}

/** Where most files of packages go. A throw-away host has its database at the usual place below its root. */
function folderOfFiles({ adminDir }: AptPlaces): string {
  return adminDir === '/var/lib/dpkg' ? '/usr' : adminDir;
}

async function ask(program: string, args: readonly string[]): Promise<string> {
  const limits = { timeoutMs: SIZES_TIMEOUT_MS, maxOutputBytes: SIZES_OUTPUT_MAX_BYTES };
  const answer = await runProgram({ program, args, ...limits });
  return answer.ok ? answer.stdout : '';
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
