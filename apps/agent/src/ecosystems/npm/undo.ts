import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleFaults } from '@tidegate/protocol/bundles';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import type { HostPaths, PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { copyKept, type Kept, openKept } from '../kept-files.ts';
import { soundPlan } from '../sound-plan.ts';
import { differenceOf, findDone, isUndone, namedOf, withKept } from '../undo-rules.ts';
import { toActions } from './actions.ts';
import { fillCache } from './fill-cache.ts';
import { knownVersions } from './known.ts';
import { archOf, folderOfPlace, locationIn, type NpmPlace, splitLocation } from './locations.ts';
import type { Parsed } from './lockfile.ts';
import { readProject } from './places.ts';
import type { Planner } from './planner.ts';
import { addReplaced } from './replaced.ts';
import { resolveWishes, type Wish } from './resolve.ts';
import { isSafeArgument, registryOf, unprivileged, withNpmSession } from './session.ts';
import { readStaged, type StagedPackage } from './staged.ts';
import { readTree } from './tree.ts';
import { undoneLockfile } from './undone-lockfile.ts';

/**
 * Plans a rollback of one place: exactly what an installation is to have undone, without what is undone already. npm
 * resolves it offline from the kept files alone; a tree that differs is no plan.
 */
export async function planUndo(
  { session, paths }: Planner,
  place: NpmPlace,
  {
    updates,
    undo,
    resolvedAt,
  }: { updates: readonly PlanTarget[]; undo: readonly RollbackAction[]; resolvedAt: Date },
): Promise<PlanOutcome> {
  const rest = await restOf(place, undo);
  if (!rest.ok) return rest;
  const done = findDone(updates, rest.value);
  if (done !== null) return { ok: false, reason: done };
  const files = findKept(paths.kept, rest.value);
  if (!files.ok) return files;
  const bare = await resolve(paths, place, { rest: rest.value, files: files.value });
  if (!bare.ok) return bare;
  const difference = differenceOf(rest.value, bare.value, 'npm');
  if (difference !== null) return { ok: false, reason: difference };
  const described = bare.value.map((action) => {
    const file = files.value.get(keyOf(action));
    return file === undefined ? action : withKept(action, file);
  });
  const actions = await addReplaced(session, { place, kept: paths.kept }, described);
  const [fault] = bundleFaults({ ecosystem: 'npm', actions });
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  return soundPlan(actions, resolvedAt);
}

/** What is left to undo. A global package is written anew as a whole, so all of it is left or nothing. */
async function restOf(place: NpmPlace, undo: readonly RollbackAction[]): Promise<Parsed<RollbackAction[]>> {
  const tree = await readTree(folderOfPlace(place));
  const [fault] = tree.faults;
  if (fault !== undefined) return { ok: false, reason: fault };
  const present = [...tree.packages.values()].map((pkg) => ({ ...pkg, arch: archOf(place, pkg) ?? '' }));
  const open = undo.filter((action) => !isUndone(action, present));
  if (place.kind === 'project') return { ok: true, value: open };
  const topOf = (action: RollbackAction) => splitLocation(locationIn(place, action) ?? '')?.[0];
  const tops = new Set(open.map(topOf));
  return { ok: true, value: undo.filter((action) => tops.has(topOf(action))) };
}

/** The kept file of each version that comes back. */
function findKept(kept: string | null, rest: readonly RollbackAction[]): Parsed<Map<string, Kept>> {
  const store = openKept(kept);
  const files = new Map<string, Kept>();
  const lost: string[] = [];
  for (const action of rest) {
    const { name, arch = '', to_version: version } = action;
    if (version === undefined) continue;
    if (!isSafeArgument({ name, version }))
      return { ok: false, reason: `npm does not accept the name or version of ${name}` };
    const file = store.find({ ecosystem: 'npm', name, arch, version });
    if (file?.artifact.sha512 === undefined) lost.push(`${name} ${version}`);
    else files.set(keyOf(action), file);
  }
  if (lost.length === 0) return { ok: true, value: files };
  return { ok: false, reason: `no way back: this host does not keep the file of ${namedOf(lost)}` };
}

/** npm's actions, from copies of the kept files whose bytes are hashed. */
async function resolve(
  paths: HostPaths,
  place: NpmPlace,
  { rest, files }: { rest: readonly RollbackAction[]; files: ReadonlyMap<string, Kept> },
): Promise<Parsed<PlanAction[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-undo-'));
  try {
    const wrong = [...files.values()].find(({ artifact }) => !copyKept(paths.kept, artifact, directory));
    if (wrong !== undefined)
      return {
        ok: false,
        reason: `no way back: this host does not keep the file of ${wrong.name} ${wrong.version}`,
      };
    const coming = rest.flatMap((action) => {
      const file = files.get(keyOf(action));
      return file === undefined ? [] : [withKept(action, file)];
    });
    const staged = await readStaged(coming, directory);
    if (!staged.ok) return staged;
    return await resolveFrom(paths, place, { rest, staged: staged.value });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function resolveFrom(
  paths: HostPaths,
  place: NpmPlace,
  { rest, staged }: { rest: readonly RollbackAction[]; staged: readonly StagedPackage[] },
): Promise<Parsed<PlanAction[]>> {
  const registry = registryOf(paths);
  const project = place.kind === 'project' ? await readProject(place.path) : null;
  if (project !== null && !project.ok) return project;
  const known = project === null ? [] : knownVersions(project.value.lock, project.value.lockfile, registry);
  return withNpmSession(
    paths,
    async (session) => {
      const change = (lockfile: string) => undoneLockfile(lockfile, place, { actions: rest, staged });
      const resolved = await resolveWishes(session, place, topsOf(place, rest), change);
      if (!resolved.ok) return resolved;
      const actions = toActions(place, resolved.value);
      return actions.ok ? { ok: true, value: actions.value.map(({ action }) => action) } : actions;
    },
    {
      identity: await unprivileged(),
      isOffline: true,
      fill: (cache) => fillCache(cache, registry, { staged, known }),
    },
  );
}

/** The packages of the place itself that come back: npm is asked for them. */
export function topsOf({ path }: NpmPlace, actions: readonly RollbackAction[]): Wish[] {
  return actions.flatMap(({ name, arch, to_version: version }) =>
    arch === path && version !== undefined ? [{ name, version }] : [],
  );
}

function keyOf({ name, arch = '', to_version: version = '' }: RollbackAction): string {
  return `${name} ${arch} ${version}`;
}
