import { onePlaceOf, type PlanOutcome, type PlanRequest, type PlanTarget } from '../ecosystem.ts';
import { soundPlan } from '../sound-plan.ts';
import { findWhyFixed, toActions } from './actions.ts';
import { addArtifacts } from './artifacts.ts';
import type { IndexClient } from './index-client.ts';
import { type InstalledState, readInstalled } from './installed.ts';
import { findInterpreter, type Interpreter } from './interpreter.ts';
import { isName, isVersion, normaliseName } from './names-rules.ts';
import { isSourceOnly } from './newest-rules.ts';
import type { CoreMetadata } from './parse-metadata.ts';
import { isExternallyManaged, type PypiPlace } from './places.ts';
import type { Planner } from './planner.ts';
import type { Parsed } from './read-file.ts';
import { addReplaced } from './replaced.ts';
import { findBroken, type ResolvedWheels, resolveWheels, type Wish } from './resolve.ts';
import { withShadow } from './shadow.ts';
import { readSystemPackages, seenFrom } from './system-packages.ts';
import { planUndo } from './undo.ts';

/** Resolves updates of one place as one transaction, with the hash of every wheel. */
export async function planUpdates(
  planner: Planner,
  request: PlanRequest,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const path = onePlaceOf({
    updates: request.updates.map((one) => ({ ...one, name: normaliseName(one.name) })),
  });
  if (!path.ok) return path;
  const wishes = request.updates.map(({ name, toVersion }) => ({
    name: normaliseName(name),
    version: toVersion,
  }));
  if (!wishes.every(({ name, version }) => isName(name) && isVersion(version)))
    return refuse('pip does not accept this name or version');
  const place = planner.found.places.find((found) => found.path === path.value);
  if (place === undefined)
    return refuse(`there is no place ${path.value} with Python packages that can be read`);
  const state = await readUsable(place);
  if (!state.ok) return refuse(state.reason);
  const { updates, undo } = request;
  const unfit = undo ? null : await findUnfit(planner.index, wishes, { place, state: state.value });
  if (unfit !== null) return refuseFor(request, unfit);
  const interpreter = await findInterpreter(place, planner.uids);
  if (!interpreter.ok) return refuse(interpreter.reason);

  const system = await readSystemPackages(place, interpreter.value, planner.identity);
  if (!system.ok) return refuse(system.reason);
  const { distributions } = state.value;
  const opened = { place, distributions, interpreter: interpreter.value, system: system.value.distributions };
  if (undo) return planUndo(planner, opened, { updates, undo, resolvedAt });

  const seen = seenFrom(distributions, opened.system);
  const wheels = await resolve(planner, { interpreter: interpreter.value, seen, wishes });
  if (!wheels.ok) return refuseFor(request, wheels);
  const bare = toActions(wheels.value, distributions, place);
  if (!bare.ok) return refuse(bare.reason);
  const unmoved = wishes.filter((wish) => !wheels.value.some(({ name }) => name === wish.name));
  if (unmoved.length > 0) {
    const names = unmoved.map(({ name, version }) => `${name} to ${version}`).join(', ');
    return refuseFor(request, { reason: `pip does not update ${names}`, conflicting: unmoved });
  }
  const actions = await addArtifacts(planner.index, bare.value, wheels.value);
  if (!actions.ok) return refuse(actions.reason);
  return soundPlan(await addReplaced(planner, actions.value, opened), resolvedAt);
}

/** Why updates cannot be planned, and which of them where that is known. */
interface Obstacle {
  reason: string;
  conflicting?: readonly Wish[];
}

/** The first update that pip need not be asked about. */
async function findUnfit(
  index: IndexClient,
  wishes: readonly Wish[],
  { place, state }: { place: PypiPlace; state: InstalledState },
): Promise<Obstacle | null> {
  for (const wish of wishes) {
    const { name, version } = wish;
    const conflicting = [wish];
    const before = state.distributions.find((distribution) => distribution.name === name);
    if (before === undefined) return { reason: `${name} is not installed in ${place.path}`, conflicting };
    const fixed = findWhyFixed(before);
    if (fixed !== null) return { reason: fixed, conflicting };
    const offered = await index.files(name);
    if (!offered.ok) return { reason: offered.reason };
    if (isSourceOnly(offered.value, version))
      return { reason: sourceOnly(`${name} ${version}`), conflicting };
  }
  return null;
}

/** The packages of a place that may be changed. */
export async function readUsable(place: PypiPlace): Promise<Parsed<InstalledState>> {
  if (await isExternallyManaged(place)) {
    return { ok: false, reason: `${place.path} is externally managed (PEP 668)` };
  }
  const state = await readInstalled(place);
  const [fault] = state.faults;
  return fault === undefined ? { ok: true, value: state } : { ok: false, reason: fault };
}

interface Question {
  interpreter: Interpreter;
  /** The packages of the place, plus the system's if it sees them. */
  seen: readonly CoreMetadata[];
  wishes: readonly Wish[];
}

/** The wheels of the closure; refused when they would break a requirement that is met now. */
async function resolve(planner: Planner, question: Question): Promise<ResolvedWheels> {
  const { interpreter, wishes, seen } = question;
  const { identity, index } = planner;
  const wheels = await withShadow({ interpreter, distributions: seen, identity }, (shadow) =>
    resolveWheels(shadow, wishes, { indexUrl: index.url }),
  );
  if (!wheels.ok) {
    return { ...wheels, reason: (await explainSourceOnly(index, wheels.reason)) ?? wheels.reason };
  }
  const moved = new Set(wheels.value.map(({ name }) => name));
  const after = [...seen.filter(({ name }) => !moved.has(name)), ...wheels.value];
  const broken = await findBroken({ before: seen, after }, { interpreter, identity });
  if (!broken.ok) return broken;
  const [first] = broken.value;
  if (first === undefined) return wheels;
  return {
    ok: false,
    reason: `it would break the place: ${first}`,
    conflicting: wishes.filter(({ name }) => broken.value.some((line) => isNamedIn(line, name))),
  };
}

/** Explains that pip found only a source distribution of a dependency. */
async function explainSourceOnly(index: IndexClient, reason: string): Promise<string | null> {
  const [, name = ''] = /No matching distribution found for ([A-Za-z0-9][A-Za-z0-9._-]*)/.exec(reason) ?? [];
  if (!isName(name)) return null;
  const offered = await index.files(name);
  if (!offered.ok || offered.value.length === 0) return null;
  return offered.value.every(({ kind }) => kind === 'sdist') ? `${sourceOnly(name)} (${reason})` : null;
}

function sourceOnly(what: string): string {
  return `only a source distribution of ${what} exists; building it on this host is not allowed`;
}

/** pip writes "kept 1.0 has requirement fussy<2, but you have fussy 2.0." */
function isNamedIn(line: string, name: string): boolean {
  return line.split(/[\s,]+/).some((word) => normaliseName(word) === name);
}

function refuseFor({ updates }: PlanRequest, { reason, conflicting = [] }: Obstacle): PlanOutcome {
  const isNamed = ({ name }: PlanTarget) => conflicting.some((wish) => wish.name === normaliseName(name));
  return { ok: false, reason, conflicting: updates.filter(isNamed) };
}

function refuse(reason: string): PlanOutcome {
  return { ok: false, reason };
}
