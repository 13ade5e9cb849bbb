import type { Parsed } from './parse-transaction.ts';

/** A file as apt would fetch it, with the hash of the signed index. */
export interface ArchiveFile {
  name: string;
  version: string;
  arch: string;
  url: string;
  /** As apt calls it on disk: epochs stay escaped (`1%3a2.0`). */
  filename: string;
  sizeBytes: number;
  sha256: string;
}

const LINE = /^'([^']+)' ([^\s/]+) (\d{1,15}) SHA256:([0-9a-f]{64})$/;

/** Reads `--print-uris`. A line without a SHA-256 invalidates the whole output; it is never skipped. */
export function parseUris(output: string): Parsed<ArchiveFile[]> {
  const files: ArchiveFile[] = [];
  for (const line of output.split('\n')) {
    if (!line.startsWith("'")) continue;
    const [, url = '', filename = '', size = '', sha256 = ''] = LINE.exec(line) ?? [];
    if (sha256 === '') return { ok: false, reason: `no SHA-256 in ${JSON.stringify(line.slice(0, 200))}` };
    const identity = splitFilename(filename);
    if (identity === null)
      return { ok: false, reason: `not a file name of apt: ${JSON.stringify(filename)}` };
    files.push({ ...identity, url, filename, sizeBytes: Number(size), sha256 });
  }
  return { ok: true, value: files };
}

/** The name that apt gives a file in its archives directory. */
export function archiveFilename(pkg: { name: string; version: string; arch: string }): string {
  return `${escapePart(pkg.name)}_${escapePart(pkg.version)}_${escapePart(pkg.arch)}.deb`;
}

function splitFilename(filename: string): { name: string; version: string; arch: string } | null {
  const parts = filename.endsWith('.deb') ? filename.slice(0, -'.deb'.length).split('_') : [];
  const [name, version, arch] = parts.map(unescapePart);
  if (!name || !version || !arch || parts.length !== 3) return null;
  return { name, version, arch };
}

function escapePart(part: string): string {
  return part.replace(/[_:%]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

function unescapePart(part: string): string {
  return part.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
