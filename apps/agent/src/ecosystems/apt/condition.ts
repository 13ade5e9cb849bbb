import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PackageCondition } from '@tidegate/protocol/package-condition';
import { runProgram } from '../../platform/run-program.ts';
import { describeCondition } from '../host-trouble.ts';
import { type ConfigurationFile, findLeftFiles } from '../left-files.ts';
import type { AptPlaces, InstalledState } from './installed.ts';
import { offeredRepair } from './repair.ts';
import { findFullDisk, findUnfinished } from './trouble.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_MAX_BYTES = 32 * 1024 * 1024;
const FORMAT = `\${Package}\n\${Conffiles}\n`;
/** What dpkg and ucf leave beside a file that was changed: the new one, or the old one where the new one was taken. */
const SUFFIXES = ['.dpkg-dist', '.dpkg-new', '.dpkg-old', '.ucf-dist', '.ucf-new', '.ucf-old'];
const DATABASE = '/var/lib/dpkg';

/** What keeps updates from being installed, and the configuration files that wait for a person. */
export async function readCondition(
  places: AptPlaces,
  installed: Pick<InstalledState, 'broken'>,
): Promise<PackageCondition | undefined> {
  const files = await readConffiles(places);
  if (files === null) return undefined;
  const root = rootOf(places);
  const known = [...files, ...(await readRegistry(root))];
  const { left, unreadFolders } = await findLeftFiles(known, { root, suffixes: SUFFIXES });
  const unfinished = await findUnfinished(places, installed, []);
  const repair = unfinished === null ? null : await offeredRepair(places, installed);
  const trouble = unfinished ?? findFullDisk(places);
  return describeCondition({ trouble, broken: installed.broken, repair, left, unreadFolders });
}

/** Null if dpkg does not answer. */
async function readConffiles({ adminDir }: AptPlaces): Promise<ConfigurationFile[] | null> {
  const answer = await runProgram({
    ...{ program: 'dpkg-query', args: ['--admindir', adminDir, '-W', '-f', FORMAT] },
    ...{ timeoutMs: TIMEOUT_MS, maxOutputBytes: OUTPUT_MAX_BYTES },
  });
  return answer.ok ? parseConffiles(answer.stdout) : null;
}

/** The files of ucf, which dpkg does not know of: a package and a path on each line. Empty where there is no ucf. */
async function readRegistry(root: string): Promise<ConfigurationFile[]> {
  const path = join(root, 'var/lib/ucf/registry');
  const read = await readFile(path, 'utf8').catch(() => '');
  return read.split('\n').flatMap((line) => {
    const [, name, file] = /^(\S+)\s+(\/.*)$/.exec(line) ?? [];
    return name === undefined || file === undefined ? [] : [{ path: file, package: name }];
  });
}

/** Reads the name of each package, followed by a line for each of its files: path, hash and sometimes `obsolete`. */
export function parseConffiles(output: string): ConfigurationFile[] {
  const files: ConfigurationFile[] = [];
  let name = '';
  for (const line of output.split('\n')) {
    const path = /^ (\/.*?) (?:[0-9a-f]{32}|newconffile)(?: .*)?$/.exec(line)?.[1];
    if (path !== undefined) files.push({ path, package: name });
    else if (line !== '') name = line;
  }
  return files;
}

/** Where the paths of packages begin: a throw-away host has its database at the usual place below its root. */
function rootOf({ adminDir }: AptPlaces): string {
  return adminDir.endsWith(DATABASE) ? adminDir.slice(0, -DATABASE.length) || '/' : '/';
}
