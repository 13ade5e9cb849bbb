import { hash } from 'node:crypto';

/** What a host says of a package, apart from its own state: two hosts share an identity only if they say the same. */
export interface PackageIdentity {
  readonly name: string;
  readonly arch: string;
  readonly version: string;
  readonly source_name: string | null;
  readonly source_version: string | null;
  readonly origin: string | null;
}

/** What the packages of a host are told apart by. */
export type InstalledKey = Pick<PackageIdentity, 'name' | 'arch' | 'version'>;

/** The key as one text. Names and versions are of one line. */
export function installedKey({ name, arch, version }: InstalledKey): string {
  return `${name}\n${arch}\n${version}`;
}

export function ofInstalledKey(key: string): InstalledKey {
  const [first, last] = [key.indexOf('\n'), key.lastIndexOf('\n')];
  return { name: key.slice(0, first), arch: key.slice(first + 1, last), version: key.slice(last + 1) };
}

/** Stored: a number never changes its meaning, and a new ecosystem takes the next one. */
const NUMBERS: Readonly<Record<string, number>> = { npm: 0, pypi: 1, apt: 2, dnf: 3, tidegate: 4 };
const OTHER = 15;
/** Values of a name within its ecosystem: with its number in front, a key is a positive integer of 31 bits. */
const NAMES = 2 ** 27;

/** By which identities are found. Stored: the text that is hashed never changes. */
export function identityDigest(ecosystem: string, of: PackageIdentity): string {
  const { name, arch, version, source_name, source_version, origin } = of;
  const text = JSON.stringify([ecosystem, name, arch, version, source_name, source_version, origin]);
  return hash('sha256', text, 'base64url');
}

/**
 * The part of a host's packages in which those of this name are. Two names may share a key, so that a query by key names
 * the packages too.
 */
export function nameKey(ecosystem: string, name: string): number {
  // As text, which costs half of what a Buffer does.
  const digest = hash('sha256', name, 'hex');
  return firstKeyOf(ecosystem) + (Number.parseInt(digest.slice(0, 8), 16) % NAMES);
}

export function nameKeys(ecosystem: string, names: readonly string[]): number[] {
  return [...new Set(names.map((name) => nameKey(ecosystem, name)))];
}

/** The keys of all names of an ecosystem, the first and the last. */
export function keysOf(ecosystem: string): readonly [number, number] {
  const first = firstKeyOf(ecosystem);
  return [first, first + NAMES - 1];
}

function firstKeyOf(ecosystem: string): number {
  return (NUMBERS[ecosystem] ?? OTHER) * NAMES;
}
