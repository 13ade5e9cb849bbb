import { readdir } from 'node:fs/promises';
import type { AptPlaces } from './installed.ts';
import type { AptSession } from './session.ts';

/**
 * Compares the lists expected from the sources with those in the lists directory. apt itself says "nothing to
 * upgrade" with exit code 0 when a list is missing: a false "up to date".
 */
export async function findListFaults(session: AptSession, { listsDir }: AptPlaces): Promise<string[]> {
  const expected = await session.run('apt-get', ['update', '--print-uris']);
  if (!expected.ok) return [expected.detail];
  const present = await readdir(listsDir).catch(() => null);
  if (present === null) return ['the package lists cannot be read'];
  return listFaults(expected.stdout, present);
}

/** `expected` is the output of `apt-get update --print-uris`, `present` the names in the lists directory. */
export function listFaults(expected: string, present: readonly string[]): string[] {
  const files = expected.split('\n').flatMap((line) => /^'[^']+' (\S+) \d+/.exec(line)?.[1] ?? []);
  const sources = files
    .filter((file) => /_(?:In)?Release$/.test(file))
    .map((file) => file.replace(/(?:In)?Release$/, ''));
  const lists = files.filter((file) => /_Packages$/.test(file));
  if (lists.length === 0) return ['no package source is configured'];
  const faults: string[] = [];
  for (const source of sources) {
    if (!lists.some((file) => file.startsWith(source))) continue; // a deb-src entry
    // A release is fetched whole or not at all, so one list proves the others.
    const found = present.some((file) => file.startsWith(source) && /_Packages(?:\.\w+)?$/.test(file));
    if (!found) faults.push(`no package list of ${source.replace(/_$/, '')}: run apt-get update`);
  }
  return faults;
}
