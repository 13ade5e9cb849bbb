import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  type LinkName,
  PROGRAM_NAME,
  programOf,
  readLayout,
  VERSIONS_FOLDER,
} from '../ecosystems/tidegate/layout.ts';
import { isAgentVersion } from '../ecosystems/tidegate/release-rules.ts';
import { syncFolder } from '../platform/file-layer.ts';
import { type UnpackOutcome, unpackProgram } from './unpack-program.ts';

/** Versions that are kept besides those of the links. */
const OLD_VERSIONS_KEPT = 2;

/**
 * Adds a version from its archive, complete or not at all. What an earlier attempt left under the same name is
 * replaced; a version that a link names never is.
 */
export async function addVersion(
  folder: string,
  { version, archive, member }: { version: string; archive: string; member: string },
): Promise<UnpackOutcome> {
  const versions = join(folder, VERSIONS_FOLDER);
  const incoming = join(versions, `.${version}`);
  const place = join(versions, version);
  const linked = readLayout(folder);
  if (!linked.ok) return linked;
  if ([linked.layout.running, linked.layout.proven].includes(version)) {
    return { ok: false, detail: `version ${version} is in use` };
  }
  rmSync(incoming, { recursive: true, force: true });
  mkdirSync(incoming, { mode: 0o755 });
  chmodSync(incoming, 0o755); // the umask may have taken bits away
  const unpacked = await unpackProgram(archive, { member, to: join(incoming, PROGRAM_NAME) });
  if (!unpacked.ok) {
    rmSync(incoming, { recursive: true, force: true });
    return unpacked;
  }
  syncFolder(incoming);
  rmSync(place, { recursive: true, force: true });
  renameSync(incoming, place);
  syncFolder(versions);
  return { ok: true };
}

/** Points a link to a version, at once for everybody who follows it, and durably. */
export function switchLink(folder: string, name: LinkName, version: string): void {
  const incoming = join(folder, `.${name}`);
  rmSync(incoming, { force: true });
  symlinkSync(programOf(version), incoming);
  renameSync(incoming, join(folder, name));
  syncFolder(folder);
}

export function hasVersion(folder: string, version: string): boolean {
  return existsSync(join(folder, programOf(version)));
}

/** Removes what no link names, but for `previous` and the newest, and the rest of interrupted attempts. */
export function pruneVersions(folder: string, previous: string | null): void {
  const read = readLayout(folder);
  if (!read.ok) return;
  const { running, proven } = read.layout;
  const versions = join(folder, VERSIONS_FOLDER);
  const names = readdirSync(versions);
  const old = names
    .filter((name) => isAgentVersion(name) && name !== running && name !== proven)
    .map((name) => ({
      name,
      atMs: name === previous ? Infinity : statSync(join(versions, name)).mtimeMs,
    }))
    .toSorted((a, b) => b.atMs - a.atMs)
    .slice(OLD_VERSIONS_KEPT)
    .map(({ name }) => name);
  const unfinished = names.filter((name) => name.startsWith('.'));
  for (const name of [...old, ...unfinished]) rmSync(join(versions, name), { recursive: true, force: true });
}
