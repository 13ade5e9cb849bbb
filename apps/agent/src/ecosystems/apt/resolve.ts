import { keyOf, readArchiveFiles } from './artifacts.ts';
import type { AptPlaces, InstalledPackage } from './installed.ts';
import { parseListing } from './parse-listing.ts';
import { type Parsed, parseTransaction, type Removal, type Transaction } from './parse-transaction.ts';
import type { ArchiveFile } from './parse-uris.ts';
import type { AptSession } from './session.ts';

/** Maximum number of packages named in a reason. */
const UNMET_NEEDS_MAX = 5;

/** What a transaction is resolved against. */
export interface HostState {
  places: AptPlaces;
  installed: readonly InstalledPackage[];
}

/** A transaction and the file of every version that it brings. */
export interface Resolution {
  transaction: Transaction;
  files: ReadonlyMap<string, ArchiveFile>;
}

/**
 * Asks apt for a transaction and its files in one run: listing the addresses resolves exactly as `-s` does and costs
 * a third of a simulation, whose checks of every single step the executor makes anyway. Where the lists cannot be
 * read, apt simulates. With -y apt refuses to change held and essential packages.
 */
export async function resolveTransaction(
  session: AptSession,
  request: readonly string[],
  state: HostState,
): Promise<Parsed<Resolution>> {
  const answer = await session.run('apt-get', ['-q', '-y', '-V', '--print-uris', ...request]);
  if (!answer.ok) return { ok: false, reason: [answer.detail, ...unmetNeeds(answer.stdout)].join('; ') };
  const listing = parseListing(answer.stdout, state.places.nativeArch);
  if (!listing.ok) return simulateTransaction(session, request);
  const removals: Removal[] = [];
  for (const shown of listing.value.removed) {
    const found = findShown(shown, state);
    if (found === null) return { ok: false, reason: `apt removes ${shown}, which is not installed` };
    removals.push({ name: found.name, arch: found.arch, from: found.version });
  }
  const { changes } = listing.value;
  const files = new Map(listing.value.files.map((file) => [keyOf(file), file]));
  return { ok: true, value: { transaction: { changes, removals }, files } };
}

async function simulateTransaction(
  session: AptSession,
  request: readonly string[],
): Promise<Parsed<Resolution>> {
  const simulated = await session.run('apt-get', ['-s', '-y', ...request]);
  if (!simulated.ok) return { ok: false, reason: simulated.detail };
  const transaction = parseTransaction(simulated.stdout);
  if (!transaction.ok) return transaction;
  const wanted = transaction.value.changes.map(({ name, arch, to: version }) => ({ name, arch, version }));
  const files = await readArchiveFiles(session, wanted);
  return files.ok ? { ok: true, value: { transaction: transaction.value, files: files.value } } : files;
}

/** The installed package that apt shows like this; without an architecture it is the host's own or `all`. */
function findShown(shown: string, { installed, places }: HostState): InstalledPackage | null {
  const [name, foreign] = shown.split(':');
  const archs = foreign === undefined ? [places.nativeArch, 'all'] : [foreign];
  return installed.find((pkg) => pkg.name === name && archs.includes(pkg.arch)) ?? null;
}

/** apt's explanation of unmet dependencies; its error line alone only says that there are some. */
function unmetNeeds(output: string): string[] {
  const lines = output.split('\n').filter((line) => /^ \S+ : \S+: /.test(line));
  return lines.slice(0, UNMET_NEEDS_MAX).map((line) => line.trim());
}
