import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  opendirSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Artifact, isSameArtifact, type PlanAction } from '@tidegate/protocol/plan';
import { type ArtifactFault, judgeArtifact, READ_UNFOLLOWED } from '../ecosystems/judge-artifact.ts';
import { lackOfSpace } from '../platform/disk-space.ts';
import { errorCode, syncFolder } from '../platform/file-layer.ts';
import { holdFolder } from '../platform/held-folder.ts';

export type StageRefusal =
  | 'artifact_extra'
  | 'artifact_missing'
  | 'space_insufficient'
  | 'storage_failed'
  | ArtifactFault;

export type StageOutcome = { ok: true } | { ok: false; reason: StageRefusal; detail: string };

const CHUNK_BYTES = 1024 * 1024;
const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Copies exactly the artifacts of the token from a folder that others can write into an empty private one, and
 * verifies the copies (A4). The hashed files are the installed files.
 */
export function stageArtifacts(
  actions: readonly PlanAction[],
  folders: { from: string; to: string },
): StageOutcome {
  const artifacts = distinctArtifacts(actions);
  if (artifacts === null) return refuse('artifact_extra', 'one file name stands for two artifacts');
  const lack = lackOfSpace(folders.to, sizeOf([...artifacts.values()]));
  if (lack !== null) return refuse('space_insufficient', `the copy of the approved files ${lack}`);
  // By descriptor: the folder cannot be replaced by a link between two files.
  const held = holdFolder(folders.from);
  if (!held.ok) return refuse('artifact_missing', `the artifact folder cannot be opened (${held.code})`);
  try {
    const extra = findExtra(held.folder.here, artifacts);
    if (extra !== null) return refuse('artifact_extra', `${JSON.stringify(extra)} is not in the approval`);
    for (const artifact of artifacts.values()) {
      const outcome = copyArtifact(
        artifact,
        held.folder.at(artifact.filename),
        join(folders.to, artifact.filename),
      );
      if (!outcome.ok) return outcome;
    }
    syncFolder(folders.to);
    return { ok: true };
  } finally {
    held.folder.close();
  }
}

/** The first name that is not in the approval; reading stops there. */
function findExtra(folder: string, artifacts: ReadonlyMap<string, Artifact>): string | null {
  const opened = opendirSync(folder);
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      if (!artifacts.has(entry.name)) return entry.name;
    }
    return null;
  } finally {
    opened.closeSync();
  }
}

/** By file name: several actions may share a file. Null when one name belongs to two artifacts. */
function distinctArtifacts(actions: readonly PlanAction[]): Map<string, Artifact> | null {
  const distinct = new Map<string, Artifact>();
  for (const { artifact } of actions) {
    if (!artifact) continue;
    const named = distinct.get(artifact.filename) ?? artifact;
    if (!isSameArtifact(named, artifact)) return null;
    distinct.set(artifact.filename, named);
  }
  return distinct;
}

function copyArtifact(artifact: Artifact, from: string, to: string): StageOutcome {
  const name = JSON.stringify(artifact.filename);
  let source: number;
  try {
    source = openSync(from, READ_UNFOLLOWED);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT') return refuse('artifact_missing', `${name} is missing`);
    return refuse('artifact_not_a_file', `${name} cannot be opened as a file (${code})`);
  }
  try {
    if (!fstatSync(source).isFile()) return refuse('artifact_not_a_file', `${name} is not a regular file`);
    copyBounded(source, to, artifact.size_bytes);
  } catch (error) {
    return refuse('storage_failed', `${name} cannot be copied (${errorCode(error)})`);
  } finally {
    closeSync(source);
  }
  return judgeArtifact(artifact, to);
}

function sizeOf(artifacts: readonly Artifact[]): number {
  return artifacts.reduce((total, { size_bytes: bytes }) => total + bytes, 0);
}

/** Copies at most one byte more than approved, enough to detect a larger file. */
function copyBounded(source: number, to: string, sizeBytes: number): void {
  const target = openSync(to, CREATE_NEW, 0o600);
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let left = sizeBytes + 1; left > 0; ) {
      const count = readSync(source, chunk, 0, Math.min(chunk.length, left), null);
      if (count === 0) break;
      for (let at = 0; at < count; ) at += writeSync(target, chunk, at, count - at);
      left -= count;
    }
    fsyncSync(target);
  } finally {
    closeSync(target);
  }
}

function refuse(reason: StageRefusal, detail: string): StageOutcome {
  return { ok: false, reason, detail };
}
