import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import {
  parseSums,
  type ReleaseFiles,
  SIGNATURE_FILE,
  SUMS_FILE,
  SUMS_MAX_BYTES,
} from '@tidegate/signing/release';

/** Largest file that is hashed and offered, in bytes. */
const FILE_MAX_BYTES = 1024 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

export type FolderState =
  | { readonly kind: 'absent' }
  | { readonly kind: 'faulty'; readonly fault: string }
  | { readonly kind: 'ready'; readonly sums: ReleaseFiles };

export type OpenedFile =
  /** The caller closes the handle. */
  | { readonly kind: 'whole'; readonly handle: FileHandle; readonly bytes: number; readonly sha256: string }
  | { readonly kind: 'unknown' }
  /** Its bytes are not those that SHA256SUMS names, or it cannot be read. */
  | { readonly kind: 'faulty'; readonly fault: string };

/** A folder of software for agents. It gives out what its SHA256SUMS names, and that file and its signature. */
export interface AgentFolder {
  readonly path: string;
  state(): Promise<FolderState>;
  open(path: string): Promise<OpenedFile>;
}

type Hashed = Map<string, { readonly identity: string; readonly sha256: Promise<string> }>;

interface Held {
  readonly identity: string;
  readonly state: FolderState;
  readonly hashed: Hashed;
}

/**
 * SHA256SUMS is read again when it changes, as when the package is upgraded under a running server. Each file is hashed
 * once, at its first use, and again when it changes.
 */
export function openAgentFolder(path: string): AgentFolder {
  let held: Held = { identity: '', state: { kind: 'absent' }, hashed: new Map() };

  async function current(): Promise<Held> {
    const opened = await openBelow(path, SUMS_FILE);
    if (!opened.ok) {
      const fault = `${SUMS_FILE} cannot be used: ${opened.fault}`;
      const state: FolderState = opened.isAbsent ? { kind: 'absent' } : { kind: 'faulty', fault };
      held = { identity: '', state, hashed: new Map() };
      return held;
    }
    try {
      const identity = identityOf(opened.stats);
      if (held.identity !== identity) {
        held = { identity, state: await readSums(opened.handle, opened.stats.size), hashed: new Map() };
      }
      return held;
    } finally {
      await opened.handle.close();
    }
  }

  return {
    path,
    state: async () => (await current()).state,
    async open(name) {
      const { state, hashed } = await current();
      if (state.kind !== 'ready') return { kind: 'unknown' };
      if (name === SUMS_FILE || name === SIGNATURE_FILE)
        return openWhole(path, name, { hashed, expected: null });
      const expected = state.sums.get(name);
      return expected === undefined ? { kind: 'unknown' } : openWhole(path, name, { hashed, expected });
    },
  };
}

async function readSums(handle: FileHandle, bytes: number): Promise<FolderState> {
  if (bytes > SUMS_MAX_BYTES) {
    return { kind: 'faulty', fault: `${SUMS_FILE} has ${bytes} bytes; allowed: at most ${SUMS_MAX_BYTES}` };
  }
  const sums = parseSums(await handle.readFile());
  if (sums !== null) return { kind: 'ready', sums };
  const allowed = '64 hex digits, two spaces and the path of another file below this folder, each once';
  return { kind: 'faulty', fault: `${SUMS_FILE} does not hold lines of sha256sum; allowed: ${allowed}` };
}

/** `expected`: null for what no checksum names. */
async function openWhole(
  folder: string,
  name: string,
  { hashed, expected }: { hashed: Hashed; expected: string | null },
): Promise<OpenedFile> {
  const opened = await openBelow(folder, name);
  if (!opened.ok) {
    return opened.isAbsent && expected === null ? { kind: 'unknown' } : faulty(name, opened.fault);
  }
  const { handle, stats } = opened;
  const found = await hashOnce(name, { handle, stats, hashed });
  const isRight = found.ok && (expected === null || found.sha256 === expected);
  if (found.ok && isRight) return { kind: 'whole', handle, bytes: stats.size, sha256: found.sha256 };
  await handle.close();
  return faulty(name, found.ok ? `its SHA-256 is not the one in ${SUMS_FILE}` : found.fault);
}

type HashOutcome = { ok: true; sha256: string } | { ok: false; fault: string };

async function hashOnce(
  name: string,
  { handle, stats, hashed }: { handle: FileHandle; stats: Stats; hashed: Hashed },
): Promise<HashOutcome> {
  if (stats.size > FILE_MAX_BYTES) {
    return { ok: false, fault: `it has ${stats.size} bytes; allowed: at most ${FILE_MAX_BYTES}` };
  }
  const identity = identityOf(stats);
  const known = hashed.get(name);
  const hashing = known?.identity === identity ? known.sha256 : hashOf(handle);
  hashed.set(name, { identity, sha256: hashing });
  try {
    const sha256 = await hashing;
    const isSame = identityOf(await handle.stat()) === identity;
    if (isSame) return { ok: true, sha256 };
    hashed.delete(name);
    return { ok: false, fault: 'it is being changed' };
  } catch (error) {
    hashed.delete(name);
    return { ok: false, fault: `it cannot be read (${codeOf(error)})` };
  }
}

/** Reads by position, so that the handle still begins at the first byte. */
async function hashOf(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return hash.digest('hex');
    hash.update(chunk.subarray(0, bytesRead));
    position += bytesRead;
  }
}

type OpenedBelow =
  | { ok: true; handle: FileHandle; stats: Stats }
  | { ok: false; isAbsent: boolean; fault: string };

/** Follows no link below the folder, which may be one itself; opens plain files alone, and waits for no pipe. */
async function openBelow(folder: string, name: string): Promise<OpenedBelow> {
  let handle: FileHandle | null = null;
  try {
    const path = join(await realpath(folder), name);
    if ((await realpath(path)) !== path) return notPlain;
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (stats.isFile()) return { ok: true, handle, stats };
    await handle.close();
    return notPlain;
  } catch (error) {
    await handle?.close();
    const code = codeOf(error);
    return { ok: false, isAbsent: code === 'ENOENT', fault: `it cannot be read (${code})` };
  }
}

const notPlain = { ok: false, isAbsent: false, fault: 'it is a link, or no plain file' } as const;

function identityOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(':');
}

function faulty(name: string, fault: string): OpenedFile {
  return { kind: 'faulty', fault: `${name} is not offered: ${fault}` };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
