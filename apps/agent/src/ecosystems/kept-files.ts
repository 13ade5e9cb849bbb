import { copyFileSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Artifact, type PlanAction } from '@tidegate/protocol/plan';
import {
  Ecosystem,
  KeyFingerprint,
  PackageName,
  PackageVersion,
  Sha256Hex,
  ShortText,
  strict,
  Timestamp,
} from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { lackOfSpace } from '../platform/disk-space.ts';
import { errorCode, ownUid, syncFolder, writeDurably } from '../platform/file-layer.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';
import { judgeArtifact } from './judge-artifact.ts';

/** The folder of kept files in the agent's own. */
export const KEPT_FOLDER = 'kept';
/** Most bytes of kept files; the oldest go first. */
export const KEPT_MAX_BYTES = 2 * 1024 ** 3;
/** Longest time that a file is kept, in milliseconds. */
export const KEPT_MAX_AGE_MS = 90 * 24 * 3_600_000;
const KEPT_MAX_FILES = 5_000;
/** Bytes that stay free on the file system: an installation needs them more. */
const FREE_BYTES = 512 * 1024 ** 2;
const INDEX = 'index.json';
const INDEX_MAX_BYTES = 8 * 1024 ** 2;
/** For what stands around the entries. */
const INDEX_RESERVE_BYTES = 64;

/** A file that brings one version of a package, and what a plan says of it. */
export const KeptVersion = strict({
  ecosystem: Ecosystem,
  name: PackageName,
  arch: ShortText,
  version: PackageVersion,
  artifact: strict({ ...Artifact.properties, sha256: Sha256Hex }),
  source_name: Type.Optional(PackageName),
  source_version: Type.Optional(PackageVersion),
  origin: Type.Optional(Type.String({ maxLength: 512 })),
  origin_key: Type.Optional(KeyFingerprint),
});
export type KeptVersion = Static<typeof KeptVersion>;

const Index = strict({
  kept: Type.Array(strict({ version: KeptVersion, kept_at: Timestamp }), { maxItems: KEPT_MAX_FILES }),
});
type Entry = Static<typeof Index>['kept'][number];

/**
 * Files of versions that this host had or has, by hash. Each was once named by a signed index of this host. They
 * belong to the agent, so root takes none of them without hashing a copy of its own.
 */
export interface KeptFiles {
  /** The newest file of a version, by its size; its bytes are not hashed. `sha256` demands one file. */
  find(of: Pick<KeptVersion, 'ecosystem' | 'name' | 'arch' | 'version'> & { sha256?: string }): Kept | null;
}

export interface Kept extends KeptVersion {
  path: string;
}

/** The version that an action brings, with what its plan says of it; nothing where it has no file of its own. */
export function keptVersion(ecosystem: Ecosystem, action: PlanAction): KeptVersion[] {
  const { name, arch, to_version: version, artifact } = action;
  const { source_name, source_version, origin, origin_key } = action;
  if (arch === undefined || version === undefined || artifact?.sha256 === undefined) return [];
  return [
    {
      ...{ ecosystem, name, arch, version, artifact: { ...artifact, sha256: artifact.sha256 } },
      ...(source_name !== undefined && { source_name }),
      ...(source_version !== undefined && { source_version }),
      ...(origin !== undefined && { origin }),
      ...(origin_key !== undefined && { origin_key }),
    },
  ];
}

/** An index that cannot be read is empty: the files are fetched again. */
export function openKept(folder: string | null): KeptFiles {
  const entries = folder === null ? [] : readIndex(folder);
  return {
    find: ({ ecosystem, name, arch, version, sha256 }) => {
      const found = entries.findLast(
        ({ version: one }) =>
          one.ecosystem === ecosystem &&
          one.name === name &&
          one.arch === arch &&
          one.version === version &&
          (sha256 === undefined || one.artifact.sha256 === sha256),
      );
      if (folder === null || found === undefined) return null;
      const path = pathOf(folder, found.version);
      const file = lstatSync(path, { throwIfNoEntry: false });
      const isWhole = file?.isFile() === true && file.size === found.version.artifact.size_bytes;
      return isWhole ? { ...found.version, path } : null;
    },
  };
}

/** Copies a kept file into a folder and hashes the copy; false if it is not there any more, or not the same. */
export function copyKept(
  folder: string | null,
  of: { sha256: string; filename: string },
  directory: string,
): boolean {
  const entry = folder === null ? undefined : readIndex(folder).find(({ version }) => isFile(version, of));
  if (folder === null || entry === undefined) return false;
  const from = pathOf(folder, entry.version);
  // Before the copy too: a pipe in its place would block it.
  if (!isIntact(entry.version, from)) return false;
  const to = join(directory, of.filename);
  copyFileSync(from, to);
  if (isIntact(entry.version, to)) return true;
  rmSync(to, { force: true });
  return false;
}

export interface KeepLimits {
  maxBytes: number;
  maxAgeMs: number;
}

/**
 * Takes files into the folder and lets the oldest go that are too many. A file is hashed after it was copied. Returns
 * why one could not be kept, null where all are. `needed` names hashes that stay, whatever else has to go.
 */
export function keepFiles(
  folder: string,
  files: readonly { version: KeptVersion; path: string }[],
  means: { nowMs: number; needed: ReadonlySet<string>; limits?: KeepLimits },
): string | null {
  const { nowMs, needed, limits = { maxBytes: KEPT_MAX_BYTES, maxAgeMs: KEPT_MAX_AGE_MS } } = means;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!isOwnFolder(folder)) return `${folder} is not a folder of the agent alone`;
  const kept_at = new Date(nowMs).toISOString();
  const before = readIndex(folder);
  const added: Entry[] = [];
  let fault: string | null = null;
  for (const { version, path } of files) {
    const reason = take(folder, version, path);
    if (reason === null) added.push({ version, kept_at });
    else fault ??= reason;
  }
  const renewed = new Set(added.map(({ version }) => keyOf(version)));
  const entries = [...before.filter(({ version }) => !renewed.has(keyOf(version))), ...added];
  const kept = withinLimits(entries, { nowMs, needed, limits });
  writeDurably(join(folder, INDEX), Buffer.from(JSON.stringify({ kept })), { mode: 0o600 });
  removeOthers(folder, new Set(kept.map(({ version }) => version.artifact.sha256)));
  return fault;
}

function take(folder: string, version: KeptVersion, path: string): string | null {
  const { filename, sha256, size_bytes: bytes } = version.artifact;
  const target = pathOf(folder, version);
  if (isIntact(version, target)) return null;
  const lack = lackOfSpace(folder, bytes + FREE_BYTES);
  if (lack !== null) return `${filename} ${lack}`;
  try {
    // One file may have several names: npm's may be that of several locations.
    rmSync(target, { recursive: true, force: true });
    mkdirSync(join(folder, sha256), { recursive: true, mode: 0o700 });
    copyFileSync(path, target);
    syncFolder(join(folder, sha256));
  } catch (error) {
    return `${filename} cannot be kept (${errorCode(error)})`;
  }
  return isIntact(version, target) ? null : `${filename} is not the file that was named`;
}

/** The newest first into both limits; what is needed comes before everything else. */
function withinLimits(
  entries: readonly Entry[],
  { nowMs, needed, limits }: { nowMs: number; needed: ReadonlySet<string>; limits: KeepLimits },
): Entry[] {
  const isNeeded = ({ version }: Entry) => needed.has(version.artifact.sha256);
  const young = entries.filter(
    (entry) => isNeeded(entry) || nowMs - Date.parse(entry.kept_at) <= limits.maxAgeMs,
  );
  const chosen = new Set<Entry>();
  const hashes = new Set<string>();
  let bytes = 0;
  let indexBytes = INDEX_RESERVE_BYTES;
  for (const entry of [...young.filter(isNeeded).toReversed(), ...young.toReversed()]) {
    const { sha256, size_bytes: size } = entry.version.artifact;
    const more = hashes.has(sha256) ? 0 : size;
    const line = Buffer.byteLength(JSON.stringify(entry)) + 1;
    const isFull = chosen.size === KEPT_MAX_FILES || indexBytes + line > INDEX_MAX_BYTES;
    if (chosen.has(entry) || isFull || bytes + more > limits.maxBytes) continue;
    chosen.add(entry);
    hashes.add(sha256);
    bytes += more;
    indexBytes += line;
  }
  return young.filter((entry) => chosen.has(entry));
}

function removeOthers(folder: string, hashes: ReadonlySet<string>): void {
  for (const name of readdirSync(folder)) {
    if (Check(Sha256Hex, name) && !hashes.has(name)) rmSync(join(folder, name), { recursive: true });
  }
}

function readIndex(folder: string): Entry[] {
  if (!isOwnFolder(folder)) return [];
  const trust = { maxBytes: INDEX_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  return readTrustedJson(join(folder, INDEX), Index, trust)?.kept ?? [];
}

/** No link, and nobody else could exchange a file between its check and its use. */
function isOwnFolder(path: string): boolean {
  const folder = lstatSync(path, { throwIfNoEntry: false });
  if (folder?.isDirectory() !== true) return false;
  const owner = ownUid();
  return owner === null || (folder.uid === owner && (folder.mode & 0o022) === 0);
}

/** Of a file that is not there, or not a regular one, nothing is intact. */
export function isIntact({ artifact }: Pick<KeptVersion, 'artifact'>, path: string): boolean {
  try {
    return judgeArtifact(artifact, path).ok;
  } catch {
    return false;
  }
}

function isFile({ artifact }: KeptVersion, of: { sha256: string; filename: string }): boolean {
  return artifact.sha256 === of.sha256 && artifact.filename === of.filename;
}

function pathOf(folder: string, { artifact }: KeptVersion): string {
  return join(folder, artifact.sha256, artifact.filename);
}

function keyOf({ ecosystem, name, arch, version, artifact }: KeptVersion): string {
  return [ecosystem, name, arch, version, artifact.sha256].join('\n');
}
