import { lstat, readFile } from 'node:fs/promises';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Distribution } from '../ecosystems/pypi/installed.ts';
import { findInterpreter, type Interpreter } from '../ecosystems/pypi/interpreter.ts';
import { isName, isVersion, parseFilename } from '../ecosystems/pypi/names-rules.ts';
import { findForeignEntry, findForeignStep } from '../ecosystems/pypi/ownership.ts';
import { type PypiPlace, readEnvironment } from '../ecosystems/pypi/places.ts';
import { readUsable } from '../ecosystems/pypi/plan.ts';
import type { Parsed } from '../ecosystems/pypi/read-file.ts';
import type { Identity } from '../run-program.ts';

/** An environment that may be changed, as its owner and nobody else. */
export interface OpenedPlace {
  place: PypiPlace;
  distributions: readonly Distribution[];
  interpreter: Interpreter;
  /** Null where that is this process's own user. */
  identity: Identity | null;
}

/** Opens the one place that the actions of an approval name (decision 0009). */
export async function openPlace(actions: readonly PlanAction[]): Promise<Parsed<OpenedPlace>> {
  const path = findPath(actions);
  if (!path.ok) return path;
  const place = await readEnvironment(path.value);
  if (!place.ok) return place;
  const owner = await findOwner(place.value);
  if (!owner.ok) return owner;
  const state = await readUsable(place.value);
  if (!state.ok) return state;
  const interpreter = await findInterpreter(place.value, new Set([0, owner.value.uid]));
  if (!interpreter.ok) return interpreter;
  const identity = owner.value.uid === process.geteuid?.() ? null : owner.value;
  const { distributions } = state.value;
  return { ok: true, value: { place: place.value, distributions, interpreter: interpreter.value, identity } };
}

/** The place that all actions are of; refused where one of them is nothing that pip installs from a wheel. */
function findPath(actions: readonly PlanAction[]): Parsed<string> {
  const [first] = actions;
  for (const { action, name, arch, to_version: to, artifact } of actions) {
    if (action === 'remove') return { ok: false, reason: `pip removes nothing, and ${name} would go` };
    if (arch === undefined || arch !== first?.arch) {
      return { ok: false, reason: `${name} is not of the same place as the others` };
    }
    if (!isName(name) || to === undefined || !isVersion(to)) {
      return { ok: false, reason: `${name} cannot be given to pip` };
    }
    if (parseFilename(artifact?.filename ?? '', name)?.kind !== 'wheel' || !artifact?.sha256) {
      return { ok: false, reason: `the file of ${name} is not a wheel of it with a SHA-256` };
    }
  }
  return first?.arch === undefined
    ? { ok: false, reason: 'nothing is to be done' }
    : { ok: true, value: first.arch };
}

/**
 * Whose the place is. Nobody else may be able to exchange it, or his programs would run with the owner's rights; where
 * it is root's, all of it has to be.
 */
async function findOwner({ path }: PypiPlace): Promise<Parsed<Identity>> {
  const stat = await lstat(path).catch(() => null);
  if (stat === null) return { ok: false, reason: `${path} cannot be looked at` };
  const own = process.geteuid?.() ?? 0;
  if (own !== 0 && stat.uid !== own) return { ok: false, reason: `${path} belongs to user ${stat.uid}` };
  const foreign = await findForeignStep(path, new Set([0, stat.uid]));
  if (foreign !== null) return { ok: false, reason: `${path} is not changed: ${foreign}` };
  if (stat.uid === 0) {
    const entry = await findForeignEntry(path, 0);
    if (entry !== null) return { ok: false, reason: `${path} is root's, but ${entry}` };
  }
  const gid = stat.uid === own ? stat.gid : await findGroup(stat.uid);
  if (gid === null)
    return { ok: false, reason: `${path} belongs to user ${stat.uid}, who is not of this host` };
  return { ok: true, value: { uid: stat.uid, gid } };
}

/** The user's own group: that of the folder may be one with more rights. */
async function findGroup(uid: number): Promise<number | null> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const gid = lines.find(([, , id]) => id === String(uid))?.[3];
  return gid === undefined || !/^[0-9]+$/.test(gid) ? null : Number(gid);
}
