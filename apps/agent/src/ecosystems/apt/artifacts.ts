import { type PackageRecord, parseRecords } from './parse-records.ts';
import type { Parsed } from './parse-transaction.ts';
import { type ArchiveFile, parseUris } from './parse-uris.ts';
import { type AptSession, isSafeArgument, pin } from './session.ts';

/** A package version to fetch. */
export interface Wanted {
  name: string;
  arch: string;
  version: string;
}

/** Reads the index entries of exactly these versions. Versions in no archive are missing from the result. */
export async function readRecords(
  session: AptSession,
  wanted: readonly Wanted[],
): Promise<Parsed<Map<string, PackageRecord[]>>> {
  const records = new Map<string, PackageRecord[]>();
  if (wanted.length === 0) return { ok: true, value: records };
  if (!wanted.every(isSafeArgument)) return { ok: false, reason: 'apt does not accept a name or version' };
  const answer = await session.run('apt-cache', ['show', ...wanted.map(pin)]);
  if (!answer.ok) return { ok: false, reason: answer.detail };
  const parsed = parseRecords(answer.stdout);
  if (!parsed.ok) return parsed;
  for (const record of parsed.value) {
    const key = keyOf(record);
    records.set(key, [...(records.get(key) ?? []), record]);
  }
  return { ok: true, value: records };
}

/**
 * Asks apt for the file of each version: address, size and SHA-256 from the signed index. Fails unless each
 * version has exactly one file and there are no others: apt silently omits what it cannot or need not fetch.
 */
export async function readArchiveFiles(
  session: AptSession,
  wanted: readonly Wanted[],
): Promise<Parsed<Map<string, ArchiveFile>>> {
  if (wanted.length === 0) return { ok: true, value: new Map() };
  if (!wanted.every(isSafeArgument)) return { ok: false, reason: 'apt does not accept a name or version' };
  const answer = await session.run('apt-get', ['-qq', 'download', '--print-uris', ...wanted.map(pin)]);
  if (!answer.ok) return { ok: false, reason: answer.detail };
  const parsed = parseUris(answer.stdout);
  if (!parsed.ok) return parsed;
  const files = new Map(parsed.value.map((file) => [keyOf(file), file]));
  const lacking = wanted.find((pkg) => !files.has(keyOf(pkg)));
  if (lacking) return { ok: false, reason: `apt lists no file for ${lacking.name} ${lacking.version}` };
  if (parsed.value.length !== wanted.length || files.size !== wanted.length) {
    return { ok: false, reason: `apt names ${parsed.value.length} files for ${wanted.length} packages` };
  }
  return { ok: true, value: files };
}

export function keyOf({ name, arch, version }: Wanted): string {
  return `${name}:${arch}=${version}`;
}
