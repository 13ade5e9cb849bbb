import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { scrub } from './scrub.ts';
import { packTar } from './tar.ts';

/** Largest part, before compression. A longer text keeps its end. */
export const PART_MAX_BYTES = 1024 * 1024;
const PARTS_MAX = 32;

/** One file of a bundle. */
export interface Part {
  name: string;
  /** One sentence for the manifest. */
  about: string;
  /** Text as it is, anything else as JSON. */
  content: unknown;
}

export interface Bundle {
  program: string;
  version: string;
  createdAtMs: number;
  parts: readonly Part[];
  /** Values that must not be inside, whatever the parts say. */
  secrets: readonly string[];
}

export interface Manifest {
  program: string;
  version: string;
  created_at: string;
  files: { name: string; about: string; bytes: number; cut: boolean }[];
}

export type Written = { ok: true; manifest: Manifest; bytes: number } | { ok: false; detail: string };

/** Writes a new file that only its owner can read, and returns what is inside; an existing file is left alone. */
export function writeBundle(path: string, bundle: Bundle): Written {
  const { program, version, createdAtMs } = bundle;
  const files = bundle.parts.slice(0, PARTS_MAX).map((part) => fileOf(part, bundle.secrets));
  const manifest: Manifest = {
    ...{ program, version, created_at: new Date(createdAtMs).toISOString() },
    files: files.map(({ name, about, content, cut }) => ({ name, about, bytes: content.length, cut })),
  };
  const first = { name: 'manifest.json', content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) };
  const entries = [first, ...files].map(({ name, content }) => {
    return { path: name, kind: 'file', mode: 0o600, owner: 0, bytes: content } as const;
  });
  const bytes = gzipSync(packTar(entries, Math.floor(createdAtMs / 1_000)));
  let fd: number;
  try {
    fd = openSync(path, 'wx', 0o600);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const detail =
      code === 'EEXIST' ? `${path} exists already: name a new file` : `${path} cannot be made (${code})`;
    return { ok: false, detail };
  }
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return { ok: true, manifest, bytes: bytes.length };
}

/** What a command prints about it. */
export function describeBundle(path: string, { manifest, bytes }: Extract<Written, { ok: true }>): string {
  const width = Math.max(...manifest.files.map(({ name }) => name.length));
  const lines = manifest.files.map(
    ({ name, about, cut }) => `  ${name.padEnd(width)}  ${about}${cut ? ' (its end)' : ''}`,
  );
  return `${path}: ${Math.ceil(bytes / 1024)} KiB\n${lines.join('\n')}\nRead it before you send it: tar -xzf ${path}`;
}

function fileOf({ name, about, content }: Part, secrets: readonly string[]) {
  const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
  const clean = Buffer.from(scrub(text, secrets));
  const cut = clean.length > PART_MAX_BYTES;
  return { name, about, cut, content: cut ? clean.subarray(-PART_MAX_BYTES) : clean };
}
