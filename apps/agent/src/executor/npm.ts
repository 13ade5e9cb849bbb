import { OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { takesBack } from '@tidegate/protocol/rollbacks';
import { toActions } from '../ecosystems/npm/actions.ts';
import { fillCache } from '../ecosystems/npm/fill-cache.ts';
import { knownVersions } from '../ecosystems/npm/known.ts';
import { archOf, childOf, findPlace, folderOfPlace, type NpmPlace } from '../ecosystems/npm/locations.ts';
import type { Parsed } from '../ecosystems/npm/lockfile.ts';
import { findPlaces, readProject } from '../ecosystems/npm/places.ts';
import { type Resolution, resolveWishes, type Wish } from '../ecosystems/npm/resolve.ts';
import {
  isSafeArgument,
  type NpmSession,
  registryOf,
  unprivileged,
  withNpmSession,
} from '../ecosystems/npm/session.ts';
import { placeOf, readStaged, type StagedPackage } from '../ecosystems/npm/staged.ts';
import { readTree } from '../ecosystems/npm/tree.ts';
import { topsOf } from '../ecosystems/npm/undo.ts';
import { undoneLockfile } from '../ecosystems/npm/undone-lockfile.ts';
import type { OutputListener } from '../platform/run-program.ts';
import { addNote, type Commit, type Installer, type InstallJob, type InstallOutcome } from './installer.ts';
import { findOwner } from './npm-owner.ts';
import { type Applied, applyToProject } from './npm-project.ts';
import { isSameTree, splitPackages, splitTree, treeDifference } from './npm-tree-rules.ts';
import {
  type InstalledVersions,
  installedOf,
  nothingLeft,
  reachedNote,
  splitReached,
  versionsByName,
} from './reached.ts';

/** Maximum number of packages named in the note on scripts. */
const NAMED_SCRIPTS_MAX = 50;

/** Installs approved npm packages from staged files alone, as the owner of the place, and runs none of their scripts. */
export const npmInstaller: Installer = {
  prepare: async (job, work) => {
    const { actions: approved } = job.approval.payload;
    const found = await openPlace(job);
    if (!found.ok) return { ok: false, detail: found.reason };
    const { place } = found.value;
    const { reached, rest } = splitReached(approved, await versionsIn(place));
    if (rest.length === 0) return nothingLeft(reached, work);
    const wishes = found.value.wishes.filter((wish) => isOpen(place, wish, rest));
    const done = await withResolved(job, { place, wishes }, (resolved) => {
      const commit: Commit = (onOutput) => install(resolved, { approved, reached }, onOutput);
      return work({ actions: resolved.actions, reached, commit });
    });
    return done.ok ? done : { ok: false, detail: done.reason };
  },
};

/** npm resolves again; the result is compared with the resolved tree before it takes effect. */
async function install(
  resolved: Resolved,
  { approved, reached }: { approved: readonly PlanAction[]; reached: readonly PlanAction[] },
  onOutput: OutputListener | undefined,
): Promise<InstallOutcome> {
  const applied = await apply(resolved, onOutput);
  const note = reachedNote(reached);
  const said = `${scriptNote(resolved.staged)}${note === null ? '' : `\n${note}\n`}`;
  const noted = addNote(onOutput, applied.output, said);
  const output = noted.slice(-OUTPUT_TAIL_MAX_CHARS);
  if (applied.ok) return { ok: true, installed: installedOf(approved), output };
  const { detail, exitCode } = applied;
  const whole = await wholeOf(resolved, approved);
  return { ok: false, reason: 'install_failed', installed: installedOf(whole), detail, exitCode, output };
}

/** The approved actions of global packages that are complete nevertheless; a project is changed as a whole or not at all. */
async function wholeOf({ place, wishes }: Resolved, approved: readonly PlanAction[]): Promise<PlanAction[]> {
  if (place.kind === 'project') return [];
  const { reached, rest } = splitReached(approved, await versionsIn(place));
  const whole = wishes.filter((wish) => !rest.some((action) => isOf(place, wish, action)));
  return reached.filter((action) => whole.some((wish) => isOf(place, wish, action)));
}

/** npm's actions as of now, with only the approved files available. */
interface Resolved {
  session: NpmSession;
  place: NpmPlace;
  wishes: readonly Wish[];
  resolution: Resolution;
  actions: PlanAction[];
  staged: readonly StagedPackage[];
}

interface OpenedPlace {
  place: NpmPlace;
  wishes: readonly Wish[];
}

/** The one place of the approval, found by npm on this host. */
async function openPlace({ paths, approval }: InstallJob): Promise<Parsed<OpenedPlace>> {
  const { updates, actions } = approval.payload;
  const asked = updates.map(({ name, to_version: version }) => ({ name, version }));
  const unsafe = [...asked, ...actions.flatMap(comingOf)].find((wish) => !isSafeArgument(wish));
  if (unsafe !== undefined)
    return { ok: false, reason: `npm does not accept the name or version of ${unsafe.name}` };
  const named = placeOf(actions);
  if (!named.ok) return named;
  const { places } = await withNpmSession(paths, (session) => findPlaces(session, paths), {
    identity: await unprivileged(),
    isOffline: true,
  });
  const place = findPlace(places, named.value);
  if (place === null) return { ok: false, reason: `${named.value} is not an npm location of this host` };
  // A rollback is one update that takes back all packages of its approval.
  return { ok: true, value: { place, wishes: takesBack(approval.payload) ? topsOf(place, actions) : asked } };
}

function comingOf({ name, to_version: version }: PlanAction): Wish[] {
  return version === undefined ? [] : [{ name, version }];
}

/**
 * npm rewrites a global package completely, so one of which nothing is left to do is not named to it. In a project it
 * keeps what is there already.
 */
function isOpen(place: NpmPlace, wish: Wish, rest: readonly PlanAction[]): boolean {
  return place.kind === 'project' || rest.some((action) => isOf(place, wish, action));
}

/** Whether the action is about a global package or about one inside of it. */
function isOf({ path }: NpmPlace, { name }: Wish, { name: of, arch = '' }: PlanAction): boolean {
  return (of === name && arch === path) || arch.startsWith(`${path}//lib/${childOf('', name)}/`);
}

/** The packages on the disk, by their `arch`; what cannot be read is not there. */
async function versionsIn(place: NpmPlace): Promise<InstalledVersions> {
  const { packages } = await readTree(folderOfPlace(place));
  return versionsByName(
    [...packages.values()].flatMap((found) => {
      const arch = archOf(place, found);
      return arch === null ? [] : [{ ...found, arch }];
    }),
  );
}

/** Resolves the approved updates as planning did, offline and as the owner of its place, and passes it to `work`. */
async function withResolved<T>(
  { paths, stage, approval }: InstallJob,
  { place, wishes }: OpenedPlace,
  work: (resolved: Resolved) => Promise<T>,
): Promise<Parsed<T>> {
  const { actions } = approval.payload;
  const owner = findOwner(place);
  if (!owner.ok) return owner;
  const staged = await readStaged(actions, stage);
  if (!staged.ok) return staged;
  const registry = registryOf(paths);
  const project = place.kind === 'project' ? await readProject(place.path) : null;
  if (project !== null && !project.ok) return project;
  const known = project === null ? [] : knownVersions(project.value.lock, project.value.lockfile, registry);
  const undoing = { actions, staged: staged.value };
  const change = takesBack(approval.payload)
    ? (lockfile: string) => undoneLockfile(lockfile, place, undoing)
    : null;
  const fill = (cache: string) => fillCache(cache, registry, { staged: staged.value, known });
  return withNpmSession(
    paths,
    async (session) => {
      const answer = await resolveWishes(session, place, wishes, change);
      if (!answer.ok) return answer;
      const resolution = answer.value;
      const simulated = toActions(place, resolution);
      if (!simulated.ok) return simulated;
      const bare = simulated.value.map(({ action }) => action);
      const resolved = { session, place, wishes, resolution, actions: bare, staged: staged.value };
      return { ok: true, value: await work(resolved) };
    },
    { identity: owner.value, isOffline: true, fill },
  );
}

function apply(resolved: Resolved, onOutput: OutputListener | undefined): Promise<Applied> {
  const { session, place, resolution } = resolved;
  const { project } = resolution;
  if (project === null) return applyGlobally(resolved, onOutput);
  return applyToProject(session, { path: place.path, resolution, project, onOutput });
}

/** Ends at the first call that fails. */
async function applyGlobally(resolved: Resolved, onOutput: OutputListener | undefined): Promise<Applied> {
  let output = '';
  for (const call of resolved.resolution.calls) {
    const applied = await applyCall(resolved, call, onOutput);
    output = `${output}${applied.output}`;
    if (!applied.ok) return { ...applied, output };
  }
  return { ok: true, output };
}

/** npm moves replaced packages aside, and restores them when it fails. */
async function applyCall(
  { session, place, resolution }: Resolved,
  wishes: readonly Wish[],
  onOutput: OutputListener | undefined,
): Promise<Applied> {
  const folder = folderOfPlace(place);
  const tops = wishes.map(({ name }) => childOf('', name));
  const before = await readTree(folder);
  const cwd = await session.makeFolder({});
  const options = ['--global', `--prefix=${place.path}`, '--install-strategy=shallow'];
  const specs = wishes.map(({ name, version }) => `${name}@${version}`);
  const run = await session.run(['install', ...options, ...specs], {
    ...{ cwd, onOutput },
    onOverflow: 'keep_tail',
  });
  const after = await readTree(folder);
  if (!run.ok) {
    const state = isSameTree(before, after)
      ? 'npm left everything as it was'
      : 'npm left a part of it behind';
    return { ok: false, detail: `${run.detail}; ${state}`, exitCode: run.exitCode, output: run.stdout };
  }
  const expected = splitPackages(resolution.after, tops).own;
  const { own, others } = splitTree(after, tops);
  const difference = isSameTree(splitTree(before, tops).others, others)
    ? treeDifference(expected, own)
    : 'other global packages are not as they were';
  if (difference === null) return { ok: true, output: run.stdout };
  return { ok: false, detail: difference, exitCode: 0, output: run.stdout };
}

/** An approval cannot permit scripts; packages with scripts are reported, as they may not work without. */
function scriptNote(staged: readonly StagedPackage[]): string {
  const names = staged
    .flatMap(({ name, version, hasScripts, bundled }) => [
      { key: `${name}@${version}`, hasScripts },
      ...bundled,
    ])
    .filter(({ hasScripts }) => hasScripts)
    .map(({ key }) => key);
  if (names.length === 0) return '';
  return `\nInstall scripts were not run: ${names.slice(0, NAMED_SCRIPTS_MAX).join(', ')}\n`;
}
