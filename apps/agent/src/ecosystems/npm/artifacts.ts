import { lstat } from 'node:fs/promises';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { NpmAction } from './actions.ts';
import { type Carrier, findBundled } from './bundled.ts';
import { cachedPath, download } from './cached-files.ts';
import { sha512Of } from './integrity.ts';
import type { LockEntry, Parsed } from './lockfile.ts';
import type { NpmSession } from './session.ts';

/**
 * Adds address, hash and exact size to every action but removals. The registry states the hash; the downloaded
 * file must match, so a plan never names a file that is not served. A bundled package has the artifact of the
 * package around it (decision 0011).
 */
export async function addArtifacts(
  session: NpmSession,
  actions: readonly NpmAction[],
): Promise<Parsed<PlanAction[]>> {
  const brought = await bring(
    session,
    actions.filter(({ bundler }) => bundler === null),
  );
  if (!brought.ok) return brought;
  const bundled = await findBundled(actions, brought.value);
  if (!bundled.ok) return bundled;
  return {
    ok: true,
    value: actions.map(({ action, entry }) => {
      const artifact = entry === null ? undefined : brought.value.get(entry)?.artifact;
      return { ...action, ...bundled.value.get(action), ...(artifact && { artifact }) };
    }),
  };
}

/** Downloads every package that has its own file, keyed by lockfile entry. */
async function bring(
  session: NpmSession,
  actions: readonly NpmAction[],
): Promise<Parsed<Map<LockEntry, Carrier>>> {
  const wanted: { action: PlanAction; entry: LockEntry; url: string; sha512: string }[] = [];
  for (const { action, entry } of actions) {
    if (entry === null) continue;
    const file = fileOf(entry);
    if (!file.ok) return file;
    wanted.push({ action, entry, ...file.value });
  }
  const failed = await download(
    session,
    wanted.map(({ url }) => url),
  );
  if (failed !== null) return { ok: false, reason: failed.detail };
  const filenames = new Set<string>();
  const brought = new Map<LockEntry, Carrier>();
  for (const { action, entry, url, sha512 } of wanted) {
    const path = cachedPath(session.cache, sha512);
    const stat = await lstat(path).catch(() => null);
    if (stat === null || !stat.isFile() || stat.size === 0) {
      return {
        ok: false,
        reason: `the file of ${action.name} does not match the hash that the registry lists`,
      };
    }
    const artifact = { filename: nameFile(action, filenames), url, size_bytes: stat.size, sha512 };
    brought.set(entry, { action, artifact, path });
  }
  return { ok: true, value: brought };
}

/** An approval cannot bind a package from git, a folder or a URL without a hash. */
function fileOf({ location, resolved, integrity }: LockEntry): Parsed<{ url: string; sha512: string }> {
  if (resolved === null || !isAddress(resolved)) {
    return { ok: false, reason: `${location} does not come from a registry` };
  }
  const sha512 = integrity === null ? null : sha512Of(integrity);
  if (sha512 === null) return { ok: false, reason: `${location} has no single SHA-512` };
  return { ok: true, value: { url: resolved, sha512 } };
}

/** Whether npm would read the text as a URL and as nothing else. */
export function isAddress(url: string): boolean {
  if (!/^https?:\/\/[^\s]+$/.test(url) || !URL.canParse(url)) return false;
  const { username, password } = new URL(url); // secrets must not reach the server
  return username === '' && password === '';
}

/** One tarball may lie at several locations, with a file for each. */
function nameFile({ name, to_version: version }: PlanAction, taken: Set<string>): string {
  const base = `${name.replace('/', '+')}-${version}`;
  let filename = `${base}.tgz`;
  for (let count = 2; taken.has(filename); count += 1) filename = `${base}.${count}.tgz`;
  taken.add(filename);
  return filename;
}
