import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import { compareVersions } from '@tidegate/versions';
import type { Identity } from '../../platform/run-program.ts';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { copyKept, type Kept, openKept } from '../kept-files.ts';
import { soundPlan } from '../sound-plan.ts';
import { differenceOf, findDone, isUndone, noWayBack, withKept } from '../undo-rules.ts';
import { findWhyFixed, toActions } from './actions.ts';
import { addArtifacts } from './artifacts.ts';
import type { Distribution } from './installed.ts';
import type { CoreMetadata } from './parse-metadata.ts';
import type { ReportedWheel } from './parse-report.ts';
import type { PypiPlace } from './places.ts';
import type { OpenPlace, Planner } from './planner.ts';
import type { Parsed } from './read-file.ts';
import { addReplaced } from './replaced.ts';
import { findBroken, resolvePins, type Wish } from './resolve.ts';
import { type Shadow, withShadow } from './shadow.ts';
import { seenFrom } from './system-packages.ts';

interface Undoing {
  updates: readonly PlanTarget[];
  undo: readonly RollbackAction[];
}

/**
 * Plans a rollback of one place: exactly what an installation is to have undone, without what is undone already. pip reads
 * each old version from its kept wheel, or from the index where that is lacking, and resolves nothing: a place whose
 * requirements would be broken by it has no plan.
 */
export async function planUndo(
  planner: Planner,
  opened: OpenPlace,
  { updates, undo, resolvedAt }: Undoing & { resolvedAt: Date },
): Promise<PlanOutcome> {
  const { place, interpreter } = opened;
  const distributions = opened.distributions.map((one) => spelledAs(one, undo, place));
  const versions = distributions.map(({ name, version }) => ({ name, arch: place.path, version }));
  const rest = undo.filter((action) => !isUndone(action, versions));
  const done = findDone(updates, rest);
  if (done !== null) return { ok: false, reason: done };
  const { identity } = planner;
  const found = await withShadow({ interpreter, distributions: [], identity }, (shadow) =>
    readWheels(planner, { shadow, rest, place }),
  );
  if (!found.ok) return found;
  const bare = await undoTransaction(opened, { rest, wheels: found.value.wheels, identity });
  if (!bare.ok) return bare;
  const described = await describe(planner, bare.value, found.value);
  if (!described.ok) return described;
  return soundPlan(await addReplaced(planner, described.value, { place, distributions }), resolvedAt);
}

/**
 * What these wheels and the removals of a rollback do to a place: planning and the executor's simulation share it. Fails
 * where that is not exactly what is to be undone, and where a requirement that is met now would not be.
 */
export async function undoTransaction(
  opened: OpenPlace,
  {
    rest,
    wheels,
    identity,
  }: { rest: readonly RollbackAction[]; wheels: readonly CoreMetadata[]; identity: Identity | null },
): Promise<Parsed<PlanAction[]>> {
  const { place, interpreter, system } = opened;
  const distributions = opened.distributions.map((one) => spelledAs(one, rest, place));
  const spelled = wheels.map((wheel) => spelledAs(wheel, rest, place));
  const actions = undoActions({ rest, wheels: spelled, distributions, place });
  if (!actions.ok) return actions;
  const changed = new Set(rest.map(({ name }) => name));
  const after = [...distributions.filter(({ name }) => !changed.has(name)), ...wheels];
  const seen = { before: seenFrom(distributions, system), after: seenFrom(after, system) };
  const broken = await findBroken(seen, { interpreter, identity });
  if (!broken.ok) return broken;
  const [first] = broken.value;
  return first === undefined ? actions : { ok: false, reason: `it would break the place: ${first}` };
}

/** A version as the rollback spells it: metadata and file names may spell one differently. */
function spelledAs<T extends { name: string; version: string }>(
  one: T,
  actions: readonly RollbackAction[],
  { path }: PypiPlace,
): T {
  const spellings = actions
    .filter(({ name, arch }) => name === one.name && arch === path)
    .flatMap(({ from_version: from, to_version: to }) => [from, to].filter((text) => text !== undefined));
  const version = spellings.find((text) => compareVersions('pypi', text, one.version) === 0);
  return version === undefined ? one : { ...one, version };
}

/** The actions of these wheels and of what goes, if they are exactly what is to be undone. */
function undoActions({
  rest,
  wheels,
  distributions,
  place,
}: {
  rest: readonly RollbackAction[];
  wheels: readonly Wish[];
  distributions: readonly Distribution[];
  place: PypiPlace;
}): Parsed<PlanAction[]> {
  const brought = toActions(wheels, distributions, place);
  if (!brought.ok) return brought;
  const removed: PlanAction[] = [];
  for (const { name } of rest.filter(({ action }) => action === 'remove')) {
    const before = distributions.find((distribution) => distribution.name === name);
    if (before === undefined) continue;
    const fixed = findWhyFixed(before);
    if (fixed !== null) return { ok: false, reason: fixed };
    removed.push({ action: 'remove', name, arch: place.path, from_version: before.version });
  }
  const actions = [...brought.value, ...removed].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const difference = differenceOf(rest, actions, 'pip');
  return difference === null ? { ok: true, value: actions } : { ok: false, reason: difference };
}

interface Found {
  wheels: ReportedWheel[];
  kept: ReadonlyMap<string, Kept>;
}

/** The wheels of the old versions: from copies of the kept files, whose bytes are hashed, and from the index. */
async function readWheels(
  { index, kept }: Planner,
  { shadow, rest, place }: { shadow: Shadow; rest: readonly RollbackAction[]; place: PypiPlace },
): Promise<Parsed<Found>> {
  const folder = join(shadow.folder, 'kept');
  await mkdir(folder);
  await chmod(folder, 0o755);
  const store = openKept(kept);
  const files = new Map<string, Kept>();
  const others: Wish[] = [];
  for (const { name, to_version: version } of rest) {
    if (version === undefined) continue;
    const file = store.find({ ecosystem: 'pypi', name, arch: place.path, version });
    if (file === null || !copyKept(kept, file.artifact, folder)) {
      others.push({ name, version });
      continue;
    }
    await chmod(join(folder, file.artifact.filename), 0o644);
    files.set(name, file);
  }
  const lost = await findLost(index, others);
  if (!lost.ok) return lost;
  if (lost.value.length > 0) return { ok: false, reason: noWayBack(lost.value, 'its index has') };
  const here = [...files.values()].map(({ name, version }) => ({ name, version }));
  const fromHere = await resolvePins(shadow, here, { folder });
  if (!fromHere.ok) return fromHere;
  const fromIndex = await resolvePins(shadow, others, { indexUrl: index.url });
  if (!fromIndex.ok) return fromIndex;
  return { ok: true, value: { wheels: [...fromHere.value, ...fromIndex.value], kept: files } };
}

async function findLost(index: Planner['index'], wishes: readonly Wish[]): Promise<Parsed<Wish[]>> {
  const lost: Wish[] = [];
  for (const wish of wishes) {
    const offered = await index.files(wish.name);
    if (!offered.ok) return offered;
    const isOf = ({ kind, version }: { kind: string; version: string }) =>
      kind === 'wheel' && compareVersions('pypi', version, wish.version) === 0;
    if (!offered.value.some(isOf)) lost.push(wish);
  }
  return { ok: true, value: lost };
}

/** What is kept is described as its plan was; everything else by pip and the index, which must agree. */
async function describe(
  { index }: Planner,
  actions: readonly PlanAction[],
  { wheels, kept }: Found,
): Promise<Parsed<PlanAction[]>> {
  const described: PlanAction[] = [];
  for (const action of actions) {
    const file = kept.get(action.name);
    const one: Parsed<PlanAction[]> =
      action.action === 'remove'
        ? { ok: true, value: [action] }
        : file === undefined
          ? await addArtifacts(index, [action], wheels)
          : { ok: true, value: [withKept(action, file)] };
    if (!one.ok) return one;
    described.push(...one.value);
  }
  return { ok: true, value: described };
}
