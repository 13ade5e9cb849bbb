import { constants, rmSync } from 'node:fs';
import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Artifact, isSameArtifact, type PlanAction } from '@tidegate/protocol/plan';
import { findLackOfSpace } from '../downloads.ts';
import type { FetchOutcome, HostPaths } from '../ecosystem.ts';
import { judgeArtifact } from '../judge-artifact.ts';
import { copyKept } from '../kept-files.ts';
import { isAddress } from './artifacts.ts';
import { cachedPath, download } from './cached-files.ts';
import { unprivileged, withNpmSession } from './session.ts';

/** Maximum download of one npm plan, in bytes. */
export const FETCH_MAX_BYTES = 4 * 1024 ** 3;

export interface Expected {
  name: string;
  artifact: Artifact;
  sha512: string;
}

/**
 * Downloads the files of an approved plan into `directory`, never as root, and compares each copy with the size
 * and hash in the plan. Several packages may share a file. Files that do not match are removed.
 */
export async function fetchActions(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<FetchOutcome> {
  const files = new Map<string, Expected>();
  for (const { action, name, artifact } of actions) {
    if (action === 'remove') continue;
    if (!artifact?.sha512 || !isAddress(artifact.url)) return mismatch(name);
    const named = files.get(artifact.filename)?.artifact ?? artifact;
    if (!isSameArtifact(named, artifact)) return mismatch(name);
    if (!files.has(artifact.filename)) {
      files.set(artifact.filename, { name, artifact, sha512: artifact.sha512 });
    }
  }
  const expected = [...files.values()];
  if (expected.length === 0) return { ok: true };
  const sizes = expected.map(({ artifact }) => artifact.size_bytes);
  const lack = await findLackOfSpace({ sizes, directory, maxBytes: FETCH_MAX_BYTES });
  if (lack !== null) return { ok: false, reason: lack };
  const here = expected.filter(({ artifact }) => takeKept(paths.kept, artifact, directory));
  const rest = expected.filter((one) => !here.includes(one));
  if (rest.length === 0) return removeOthers(directory, expected);
  return withNpmSession(
    paths,
    async (session) => {
      const failed = await download(
        session,
        rest.map(({ artifact }) => artifact.url),
      );
      if (failed !== null) return { ok: false, reason: failed.detail };
      for (const one of rest) {
        const outcome = await bring(cachedPath(session.cache, one.sha512), directory, one);
        if (!outcome.ok) return outcome;
      }
      return removeOthers(directory, expected);
    },
    { identity: await unprivileged() },
  );
}

/** A rollback names kept files by their SHA-256 too. The copy is hashed; any other bytes are asked of the registry. */
function takeKept(kept: string | null, artifact: Artifact, directory: string): boolean {
  const { sha256, filename } = artifact;
  if (sha256 === undefined || !copyKept(kept, { sha256, filename }, directory)) return false;
  const copy = join(directory, filename);
  if (judgeArtifact(artifact, copy).ok) return true;
  rmSync(copy, { force: true });
  return false;
}

/** The cache is content-addressed: a file missing under its hash was not served. */
export async function bring(
  from: string,
  directory: string,
  { name, artifact }: Expected,
): Promise<FetchOutcome> {
  const to = join(directory, artifact.filename);
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => null,
  );
  if (source === null) return mismatch(name);
  try {
    if ((await source.stat()).size !== artifact.size_bytes) return mismatch(name);
    const target = await open(to, 'wx', 0o600);
    const end = Math.max(artifact.size_bytes - 1, 0);
    await pipeline(source.createReadStream({ end, autoClose: false }), target.createWriteStream());
  } finally {
    await source.close();
  }
  if (judgeArtifact(artifact, to).ok) return { ok: true };
  await rm(to, { force: true });
  return mismatch(name);
}

async function removeOthers(directory: string, expected: readonly Expected[]): Promise<FetchOutcome> {
  const wanted = new Set(expected.map(({ artifact }) => artifact.filename));
  for (const name of await readdir(directory)) {
    if (!wanted.has(name)) await rm(join(directory, name), { recursive: true, force: true });
  }
  return { ok: true };
}

function mismatch(name: string): FetchOutcome {
  return { ok: false, reason: `artifact_mismatch: ${name}` };
}
