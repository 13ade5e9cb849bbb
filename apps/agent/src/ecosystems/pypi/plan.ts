import { Plan, type PlanAction, planFaults } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import { Check } from 'typebox/value';
import type { Identity } from '../../platform/run-program.ts';
import { onePlaceOf, type PlanOutcome, type PlanRequest, type PlanTarget } from '../ecosystem.ts';
import { findWhyFixed, toActions } from './actions.ts';
import type { IndexClient } from './index-client.ts';
import { type InstalledState, readInstalled } from './installed.ts';
import { findInterpreter, type Interpreter } from './interpreter.ts';
import { isName, isVersion, normaliseName } from './names-rules.ts';
import { isSourceOnly } from './newest-rules.ts';
import type { CoreMetadata } from './parse-metadata.ts';
import type { ReportedWheel } from './parse-report.ts';
import { type FoundPlaces, isExternallyManaged, type PypiPlace } from './places.ts';
import type { Parsed } from './read-file.ts';
import { findUnmet, type ResolvedWheels, resolveWheels, type Wish } from './resolve.ts';
import { withShadow } from './shadow.ts';
import { readSystemPackages, seenFrom } from './system-packages.ts';

const ORIGIN_MAX_CHARS = 512;

export interface Planner {
  index: IndexClient;
  found: FoundPlaces;
  /** The user pip runs as. */
  identity: Identity | null;
  /** The users whose programs this process may run. */
  uids: ReadonlySet<number>;
}

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
  const unfit = await findUnfit(planner.index, wishes, { place, state: state.value });
  if (unfit !== null) return refuseFor(request, unfit);
  const interpreter = await findInterpreter(place, planner.uids);
  if (!interpreter.ok) return refuse(interpreter.reason);

  const system = await readSystemPackages(place, interpreter.value, planner.identity);
  if (!system.ok) return refuse(system.reason);

  const seen = seenFrom(state.value.distributions, system.value.distributions);
  const wheels = await resolve(planner, { interpreter: interpreter.value, seen, wishes });
  if (!wheels.ok) return refuseFor(request, wheels);
  const bare = toActions(wheels.value, state.value.distributions, place);
  if (!bare.ok) return refuse(bare.reason);
  const unmoved = wishes.filter((wish) => !wheels.value.some(({ name }) => name === wish.name));
  if (unmoved.length > 0) {
    const names = unmoved.map(({ name, version }) => `${name} to ${version}`).join(', ');
    return refuseFor(request, { reason: `pip does not update ${names}`, conflicting: unmoved });
  }
  const actions = await addArtifacts(planner.index, bare.value, wheels.value);
  if (!actions.ok) return refuse(actions.reason);
  const plan = { resolved_at: resolvedAt.toISOString(), actions: actions.value };
  const fault = planFaults(plan)[0];
  if (fault) return refuse(`the plan is unsound at ${fault.path}: ${fault.message}`);
  if (!Check(Plan, plan)) return refuse('the plan exceeds the limits of the protocol');
  return { ok: true, plan };
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
  const broken = await findBroken(seen, wheels.value, { interpreter, identity });
  if (!broken.ok) return broken;
  const [first] = broken.value;
  if (first === undefined) return wheels;
  return {
    ok: false,
    reason: `it would break the place: ${first}`,
    conflicting: wishes.filter(({ name }) => broken.value.some((line) => isNamedIn(line, name))),
  };
}

/** The requirements that the wheels would break, in pip's words. */
async function findBroken(
  distributions: readonly CoreMetadata[],
  wheels: readonly CoreMetadata[],
  tools: { interpreter: Interpreter; identity: Identity | null },
): Promise<Parsed<string[]>> {
  const names = new Set(wheels.map(({ name }) => name));
  const after = [...distributions.filter(({ name }) => !names.has(name)), ...wheels];
  const unmet = await withShadow({ ...tools, distributions: after }, findUnmet);
  if (!unmet.ok || unmet.value.size === 0) return unmet.ok ? { ok: true, value: [] } : unmet;
  const today = await withShadow({ ...tools, distributions }, findUnmet);
  if (!today.ok) return today;
  return { ok: true, value: [...unmet.value].filter((line) => !today.value.has(line)) };
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

/** Adds the file to every action; pip and the index must agree on each. */
async function addArtifacts(
  index: IndexClient,
  actions: readonly PlanAction[],
  wheels: readonly ReportedWheel[],
): Promise<Parsed<PlanAction[]>> {
  const complete: PlanAction[] = [];
  for (const action of actions) {
    const wheel = wheels.find(({ name }) => name === action.name);
    const offered = await index.files(action.name);
    if (!offered.ok) return offered;
    const file = offered.value.find(({ filename }) => filename === wheel?.filename);
    const agrees = file !== undefined && (file.sha256 === null || file.sha256 === wheel?.sha256);
    if (!wheel?.sha256 || !agrees || compareVersions('pypi', file.version, wheel.version) !== 0) {
      return { ok: false, reason: `pip and the index disagree about ${action.name} ${action.to_version}` };
    }
    if (file.yanked)
      return { ok: false, reason: `${action.name} ${action.to_version} was yanked from the index` };
    const size = await index.sizeOf(file);
    if (!size.ok) return size;
    const { filename, sha256 } = wheel;
    complete.push({
      ...action,
      origin: index.origin.slice(0, ORIGIN_MAX_CHARS),
      artifact: { filename, url: file.url, size_bytes: size.value, sha256 },
    });
  }
  return { ok: true, value: complete };
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
