import { join } from 'node:path';
import { childOf, folderOfPlace, type NpmPlace } from './locations.ts';
import { LOCKFILE_MAX_BYTES, type LockEntry, type Parsed, parseLockfile } from './lockfile.ts';
import { parseManifest, pinNeed } from './manifest.ts';
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

/** The packages of a place before and after an update of one package, by location. */
export interface Resolution {
  before: ReadonlyMap<string, DiskPackage>;
  after: ReadonlyMap<string, LockEntry>;
  /** npm rewrites a global package completely; in a project it keeps unchanged packages. */
  isRewritten: boolean;
  /** For a project: the input of the installation. */
  project: ProjectResolution | null;
}

export interface ProjectResolution extends Project {
  disk: DiskTree;
  omitted: Omitted;
  /** The lockfile that the project gets. */
  newLockfile: string;
}

/**
 * Resolves one package at one place by npm itself, from a private lockfile. Planning resolves against the
 * registry, the executor against a cache of approved files. Both use this call, so they differ only where npm
 * does.
 */
export function resolveWish(session: NpmSession, place: NpmPlace, wish: Wish): Promise<Parsed<Resolution>> {
  return place.kind === 'global' ? resolveGlobal(session, place, wish) : resolveProject(session, place, wish);
}

async function resolveGlobal(session: NpmSession, place: NpmPlace, wish: Wish): Promise<Parsed<Resolution>> {
  const disk = await readTree(folderOfPlace(place));
  const [fault] = disk.faults;
  if (fault !== undefined) return { ok: false, reason: fault };
  const top = childOf('', wish.name);
  if (disk.links.has(top)) return { ok: false, reason: `${wish.name} is linked to a folder elsewhere` };
  const manifest = JSON.stringify({ dependencies: { [wish.name]: wish.version } });
  // The layout of global packages: each contains its own dependencies.
  const text = await lock(session, { 'package.json': manifest }, ['--install-strategy=shallow']);
  if (!text.ok) return text;
  const parsed = parseLockfile(text.value);
  if (!parsed.ok) return parsed;
  const { entries } = parsed.value;
  const reached = reachableGlobally(parsed.value, { name: wish.name, platform: await readPlatform() });
  const shared = [...reached].find((location) => !isWithin(location, top));
  if (shared !== undefined) {
    return {
      ok: false,
      reason: `${wish.name} shares ${shared} with its peers, which npm does not install globally`,
    };
  }
  const before = [...disk.packages].filter(([location]) => isWithin(location, top));
  const value = { before: new Map(before), after: pick(entries, reached), isRewritten: true, project: null };
  return { ok: true, value };
}

async function resolveProject(session: NpmSession, place: NpmPlace, wish: Wish): Promise<Parsed<Resolution>> {
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

  const files = {
    'package.json': pinNeed(manifest.value, wish),
    'package-lock.json': project.value.lockfile,
  };
  const layout = [`--lockfile-version=${project.value.lock.version}`, '--install-strategy=hoisted'];
  const text = await lock(session, files, layout);
  if (!text.ok) return text;
  const restored = restoreRoot(text.value, project.value.lockfile);
  if (!restored.ok) return restored;
  const parsed = parseLockfile(restored.value);
  if (!parsed.ok) return parsed;
  const after = pick(parsed.value.entries, reachable(parsed.value, { platform, omitted }));
  const made = { ...project.value, disk, omitted, newLockfile: restored.value };
  return { ok: true, value: { before: disk.packages, after, isRewritten: false, project: made } };
}

/** Lets npm write only a lockfile, in a private folder. */
async function lock(
  session: NpmSession,
  files: Readonly<Record<string, string>>,
  layout: readonly string[],
): Promise<Parsed<string>> {
  const cwd = await session.makeFolder(files);
  const run = await session.run(['install', '--package-lock-only', '--save-exact', ...layout], { cwd });
  if (!run.ok) return { ok: false, reason: run.detail };
  return readBounded(join(cwd, 'package-lock.json'), LOCKFILE_MAX_BYTES);
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
