import { lstat } from 'node:fs/promises';
import type { Artifact, PlanAction } from '@tidegate/protocol/plan';
import type { NpmAction } from './actions.ts';
import { cachedPath, download } from './cached-files.ts';
import { sha512Of } from './integrity.ts';
import type { LockEntry, Parsed } from './lockfile.ts';
import type { NpmSession } from './session.ts';

interface Wanted {
  action: PlanAction;
  url: string;
  sha512: string;
}

/**
 * Adds address, hash and exact size to every action but removals. The hash is the registry's word for the file; the
 * file is downloaded and must be it, so that a plan never promises what nobody serves.
 */
export async function addArtifacts(
  session: NpmSession,
  actions: readonly NpmAction[],
): Promise<Parsed<PlanAction[]>> {
  const wanted: Wanted[] = [];
  for (const { action, entry } of actions) {
    if (entry === null) continue;
    const file = fileOf(entry);
    if (!file.ok) return file;
    wanted.push({ action, ...file.value });
  }
  const failed = await download(
    session,
    wanted.map(({ url }) => url),
  );
  if (failed !== null) return { ok: false, reason: failed.detail };
  const names = new Set<string>();
  const artifacts = new Map<PlanAction, Artifact>();
  for (const { action, url, sha512 } of wanted) {
    const stat = await lstat(cachedPath(session.cache, sha512)).catch(() => null);
    if (stat === null || !stat.isFile() || stat.size === 0) {
      return {
        ok: false,
        reason: `the registry serves another file of ${action.name} than it has the hash of`,
      };
    }
    artifacts.set(action, { filename: nameFile(action, names), url, size_bytes: stat.size, sha512 });
  }
  return {
    ok: true,
    value: actions.map(({ action }) => {
      const artifact = artifacts.get(action);
      return artifact === undefined ? action : { ...action, artifact };
    }),
  };
}

/** What is from git, a folder or an address without a hash cannot be bound by an approval. */
function fileOf({ location, resolved, integrity }: LockEntry): Parsed<{ url: string; sha512: string }> {
  if (resolved === null || !isAddress(resolved)) {
    return { ok: false, reason: `${location} does not come from a registry` };
  }
  const sha512 = integrity === null ? null : sha512Of(integrity);
  if (sha512 === null) return { ok: false, reason: `${location} has no single SHA-512` };
  return { ok: true, value: { url: resolved, sha512 } };
}

/** Whether npm can be given the text as an address, and only as that. */
export function isAddress(url: string): boolean {
  if (!/^https?:\/\/[^\s]+$/.test(url) || !URL.canParse(url)) return false;
  const { username, password } = new URL(url); // a plan goes to the server, and secrets do not
  return username === '' && password === '';
}

/** One tarball may lie at several locations; the executor wants a file for each. */
function nameFile({ name, to_version: version }: PlanAction, taken: Set<string>): string {
  const base = `${name.replace('/', '+')}-${version}`;
  let filename = `${base}.tgz`;
  for (let count = 2; taken.has(filename); count += 1) filename = `${base}.${count}.tgz`;
  taken.add(filename);
  return filename;
}
