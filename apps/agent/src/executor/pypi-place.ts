import { lstat, readFile } from 'node:fs/promises';
import type { ApprovalPayload } from '@tidegate/protocol/documents';
import { takesBack } from '@tidegate/protocol/rollbacks';
import type { Distribution } from '../ecosystems/pypi/installed.ts';
import { findInterpreter, type Interpreter } from '../ecosystems/pypi/interpreter.ts';
import { isName, isVersion, parseFilename } from '../ecosystems/pypi/names-rules.ts';
import { findForeignEntry, findForeignStep } from '../ecosystems/pypi/ownership.ts';
import type { CoreMetadata } from '../ecosystems/pypi/parse-metadata.ts';
import { type PypiPlace, readPlace, userBase } from '../ecosystems/pypi/places.ts';
import { readUsable } from '../ecosystems/pypi/plan.ts';
import type { Parsed } from '../ecosystems/pypi/read-file.ts';
import { readSystemPackages, type SystemPackages, seenFrom } from '../ecosystems/pypi/system-packages.ts';
import type { Identity } from '../platform/run-program.ts';

/** An environment or a user's packages that may be changed, as their owner and nobody else. */
export interface OpenedPlace {
  place: PypiPlace;
  distributions: readonly Distribution[];
  /** The system packages the place sees; they are not changed. */
  system: SystemPackages;
  interpreter: Interpreter;
  /** Null for this process's user. */
  identity: Identity | null;
}

/** Opens the one place that the actions of an approval name (decision 0009). */
export async function openPlace(
  payload: Pick<ApprovalPayload, 'updates' | 'actions'>,
  systemPrefix?: string,
): Promise<Parsed<OpenedPlace>> {
  const path = findPath(payload);
  if (!path.ok) return path;
  const place = await readPlace(path.value, systemPrefix);
  if (!place.ok) return place;
  const owner = await findOwner(place.value);
  if (!owner.ok) return owner;
  const state = await readUsable(place.value);
  if (!state.ok) return state;
  const own = process.geteuid?.() ?? 0;
  // An environment's interpreter may belong to its owner; that of a user's packages must be the host's.
  const makers = new Set([0, place.value.kind === 'user' ? own : owner.value.uid]);
  const interpreter = await findInterpreter(place.value, makers);
  if (!interpreter.ok) return interpreter;
  const identity = owner.value.uid === own ? null : owner.value;
  const system = await readSystemPackages(place.value, interpreter.value, identity);
  if (!system.ok) return system;
  const foreign = owner.value.uid === 0 ? await findForeignIn(system.value.folders) : null;
  if (foreign !== null) return { ok: false, reason: `${path.value} is root's, but ${foreign}` };
  const { distributions } = state.value;
  return {
    ok: true,
    value: {
      ...{ place: place.value, distributions, system: system.value },
      ...{ interpreter: interpreter.value, identity },
    },
  };
}

/** All packages visible to a resolver in the place. */
export function seenIn({ distributions, system }: OpenedPlace): readonly CoreMetadata[] {
  return seenFrom(distributions, system.distributions);
}

/** Code in the system's folders runs with the owner's rights too. */
async function findForeignIn(folders: readonly string[]): Promise<string | null> {
  for (const folder of folders) {
    const foreign = (await findForeignStep(folder, new Set([0]))) ?? (await findForeignEntry(folder, 0));
    if (foreign !== null) return foreign;
  }
  return null;
}

/** The one place of all actions; refuses an action that is not an installation from a wheel, or part of a rollback. */
function findPath(payload: Pick<ApprovalPayload, 'updates' | 'actions'>): Parsed<string> {
  const [first] = payload.actions;
  const mayRemove = takesBack(payload);
  for (const { action, name, arch, from_version: from, to_version: to, artifact } of payload.actions) {
    const isRemoved = action === 'remove';
    if (isRemoved && !mayRemove)
      return { ok: false, reason: `pip removes no packages, but ${name} would be removed` };
    if (arch === undefined || arch !== first?.arch) {
      return { ok: false, reason: `${name} belongs to another location than the others` };
    }
    const version = isRemoved ? from : to;
    if (!isName(name) || version === undefined || !isVersion(version)) {
      return { ok: false, reason: `pip does not accept the name or version of ${name}` };
    }
    if (isRemoved) continue;
    if (parseFilename(artifact?.filename ?? '', name)?.kind !== 'wheel' || !artifact?.sha256) {
      return { ok: false, reason: `the file of ${name} is not a wheel of it with a SHA-256` };
    }
  }
  return first?.arch === undefined
    ? { ok: false, reason: 'there is nothing to do' }
    : { ok: true, value: first.arch };
}

/**
 * The owner of the place. Nobody else may be able to replace it, or their programs would run with the owner's
 * rights; a place of root's must belong to root entirely.
 */
async function findOwner(place: PypiPlace): Promise<Parsed<Identity>> {
  const { path, kind } = place;
  const stat = await lstat(path).catch(() => null);
  if (stat === null) return { ok: false, reason: `${path} cannot be inspected` };
  const own = process.geteuid?.() ?? 0;
  if (own !== 0 && stat.uid !== own) return { ok: false, reason: `${path} belongs to user ${stat.uid}` };
  const foreign = await findForeignStep(path, new Set([0, stat.uid]));
  if (foreign !== null) return { ok: false, reason: `${path} is not changed: ${foreign}` };
  if (stat.uid === 0) {
    const entry = await findForeignEntry(kind === 'user' ? userBase(place) : path, 0);
    if (entry !== null) return { ok: false, reason: `${path} is root's, but ${entry}` };
  }
  const gid = stat.uid === own ? stat.gid : await findGroup(stat.uid);
  if (gid === null)
    return { ok: false, reason: `${path} belongs to user ${stat.uid}, who does not exist on this host` };
  return { ok: true, value: { uid: stat.uid, gid } };
}

/** The user's primary group: the folder's group may have more rights. */
async function findGroup(uid: number): Promise<number | null> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const gid = lines.find(([, , id]) => id === String(uid))?.[3];
  return gid === undefined || !/^[0-9]+$/.test(gid) ? null : Number(gid);
}
