import { join } from 'node:path';
import { childOf, folderOfPlace, type NpmPlace } from './locations.ts';
import { LOCKFILE_MAX_BYTES, type LockEntry, type Parsed, parseLockfile } from './lockfile.ts';
import { parseManifest, pinNeeds } from './manifest.ts';
import { type Project, readProject } from './places.ts';
import { readPlatform } from './platform.ts';
import { findOmitted, findProjectFaults } from './project-state-rules.ts';
import { type Omitted, reachable, reachableGlobally } from './reachable-rules.ts';
import { restoreRoot } from './restore-root.ts';
import type { NpmSession } from './session.ts';
import { type DiskPackage, type DiskTree, readBounded, readTree } from './tree.ts';

export interface Wish {
  name: string;
  version: string;
}

/** The packages of a place before and after updates, by location. */
export interface Resolution {
  before: ReadonlyMap<string, DiskPackage>;
  after: ReadonlyMap<string, LockEntry>;
  /** npm rewrites a global package completely; in a project it keeps unchanged packages. */
  isRewritten: boolean;
  /** For global packages: which of them npm installs with one call; packages that would share others are separate. */
  calls: readonly (readonly Wish[])[];
  /** For a project: the input of the installation. */
  project: ProjectResolution | null;
}

export interface ProjectResolution extends Project {
  disk: DiskTree;
  omitted: Omitted;
  /** The lockfile that the project gets. */
  newLockfile: string;
}

/** A failure names the wishes that conflict, where npm names them. */
export type Resolved =
  | { ok: true; value: Resolution }
  | { ok: false; reason: string; conflicting?: readonly Wish[] };

/** The lockfile that npm is to complete instead of a project's own; no wish is pinned then. */
export type ChangeLockfile = (lockfile: string) => Parsed<string>;

/**
 * Resolves packages of one place together by npm itself, from a private lockfile. Planning resolves against the
 * registry, the executor against a cache of approved files. Both use this call, so they differ only where npm
 * does.
 */
export function resolveWishes(
  session: NpmSession,
  place: NpmPlace,
  asked: readonly Wish[],
  change: ChangeLockfile | null = null,
): Promise<Resolved> {
  const wishes = asked.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return place.kind === 'global'
    ? resolveGlobals(session, place, wishes)
    : resolveProject(session, place, { wishes, change });
}

/**
 * Installed with one call, a global package uses another one of the call as its dependency, and breaks when that one is
 * updated alone. Such packages are resolved and installed one by one, so that any order ends in the same tree.
 */
async function resolveGlobals(
  session: NpmSession,
  place: NpmPlace,
  wishes: readonly Wish[],
): Promise<Resolved> {
  const disk = await readTree(folderOfPlace(place));
  const [fault] = disk.faults;
  if (fault !== undefined) return { ok: false, reason: fault };
  const linked = wishes.find(({ name }) => disk.links.has(childOf('', name)));
  if (linked !== undefined)
    return { ok: false, reason: `${linked.name} is linked to a folder elsewhere`, conflicting: [linked] };
  const isOwn = (location: string) => wishes.some(({ name }) => isWithin(location, childOf('', name)));
  const before = new Map([...disk.packages].filter(([location]) => isOwn(location)));
  const together = await lockGlobals(session, wishes);
  if (together.ok) {
    return {
      ok: true,
      value: { before, after: together.value, isRewritten: true, calls: [wishes], project: null },
    };
  }
  const after = new Map<string, LockEntry>();
  for (const wish of wishes) {
    const alone = wishes.length === 1 ? together : await lockGlobals(session, [wish]);
    if (!alone.ok) return { ok: false, reason: alone.reason, conflicting: [wish] };
    for (const [location, entry] of alone.value) after.set(location, entry);
  }
  const calls = wishes.map((wish) => [wish]);
  return { ok: true, value: { before, after, isRewritten: true, calls, project: null } };
}

/** The packages of one call, none of which uses a package of another one. */
async function lockGlobals(
  session: NpmSession,
  wishes: readonly Wish[],
): Promise<Parsed<ReadonlyMap<string, LockEntry>>> {
  const manifest = JSON.stringify({
    dependencies: Object.fromEntries(wishes.map(({ name, version }) => [name, version])),
  });
  // The layout of global packages: each contains its own dependencies.
  const text = await lock(session, { 'package.json': manifest }, ['--install-strategy=shallow']);
  if (!text.ok) return text;
  const parsed = parseLockfile(text.value);
  if (!parsed.ok) return parsed;
  const platform = await readPlatform();
  const all = new Set<string>();
  for (const { name } of wishes) {
    const reached = reachableGlobally(parsed.value, { name, platform });
    const shared = [...reached].find((location) => !isWithin(location, childOf('', name)));
    if (shared !== undefined) {
      return {
        ok: false,
        reason: `${name} shares ${shared} with its peers, which npm does not install globally`,
      };
    }
    for (const location of reached) all.add(location);
  }
  return { ok: true, value: pick(parsed.value.entries, all) };
}

async function resolveProject(
  session: NpmSession,
  place: NpmPlace,
  { wishes, change }: { wishes: readonly Wish[]; change: ChangeLockfile | null },
): Promise<Resolved> {
  const project = await readProject(place.path);
  if (!project.ok) return project;
  const manifest = parseManifest(project.value.manifest);
  if (!manifest.ok) return manifest;
  if (project.value.lock.hasWorkspaces || manifest.value.workspaces !== undefined) {
    return {
      ok: false,
      reason: `${place.path} has workspaces or linked folders, which cannot be updated here`,
    };
  }
  const disk = await readTree(place.path);
  const platform = await readPlatform();
  const omitted = findOmitted(project.value.lock, disk, platform);
  const [fault] = [...disk.faults, ...findProjectFaults(project.value.lock, disk, { platform, omitted })];
  if (fault !== undefined) return { ok: false, reason: fault };

  const { lockfile } = project.value;
  const given: Parsed<string> = change === null ? { ok: true, value: lockfile } : change(lockfile);
  if (!given.ok) return given;
  const files = {
    'package.json': pinNeeds(manifest.value, change === null ? wishes : []),
    'package-lock.json': given.value,
  };
  const layout = [`--lockfile-version=${project.value.lock.version}`, '--install-strategy=hoisted'];
  const text = await lock(session, files, layout);
  if (!text.ok) return { ok: false, reason: text.reason, conflicting: findNamed(text.said, wishes) };
  const restored = restoreRoot(text.value, project.value.lockfile);
  if (!restored.ok) return restored;
  const parsed = parseLockfile(restored.value);
  if (!parsed.ok) return parsed;
  const after = pick(parsed.value.entries, reachable(parsed.value, { platform, omitted }));
  const made = { ...project.value, disk, omitted, newLockfile: restored.value };
  return { ok: true, value: { before: disk.packages, after, isRewritten: false, calls: [], project: made } };
}

/** The wishes that npm names where it reports conflicting peers, as `name@version` or `name@"range"`. */
export function findNamed(said: string, wishes: readonly Wish[]): Wish[] {
  if (!said.includes('ERESOLVE')) return [];
  const words = new Set(said.split(/\s+/).map((word) => word.slice(0, Math.max(0, word.lastIndexOf('@')))));
  return wishes.filter(({ name }) => words.has(name));
}

/** Lets npm write only a lockfile, in a private folder. */
export async function lock(
  session: NpmSession,
  files: Readonly<Record<string, string>>,
  layout: readonly string[],
): Promise<{ ok: true; value: string } | { ok: false; reason: string; said: string }> {
  const cwd = await session.makeFolder(files);
  const run = await session.run(['install', '--package-lock-only', '--save-exact', ...layout], { cwd });
  if (!run.ok) return { ok: false, reason: run.detail, said: run.stderr };
  const read = await readBounded(join(cwd, 'package-lock.json'), LOCKFILE_MAX_BYTES);
  return read.ok ? read : { ...read, said: '' };
}

function isWithin(location: string, top: string): boolean {
  return location === top || location.startsWith(`${top}/`);
}

function pick(
  entries: ReadonlyMap<string, LockEntry>,
  locations: ReadonlySet<string>,
): Map<string, LockEntry> {
  return new Map([...entries].filter(([location]) => locations.has(location)));
}
