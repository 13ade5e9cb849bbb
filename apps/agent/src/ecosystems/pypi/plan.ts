import { Plan, type PlanAction, planFaults } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import { Check } from 'typebox/value';
import type { Identity } from '../../platform/run-program.ts';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
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
import { findUnmet, resolveWheels } from './resolve.ts';
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

/** Resolves the update of one package in one place, with the hash of every wheel. */
export async function planTarget(
  planner: Planner,
  { name: written, arch, toVersion }: PlanTarget,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const name = normaliseName(written);
  if (!isName(name) || !isVersion(toVersion)) return refuse('pip does not accept this name or version');
  const place = planner.found.places.find(({ path }) => path === arch);
  if (place === undefined)
    return refuse(`there is no place ${arch ?? ''} with Python packages that can be read`);
  const state = await readUsable(place);
  if (!state.ok) return refuse(state.reason);
  const before = state.value.distributions.find((distribution) => distribution.name === name);
  if (before === undefined) return refuse(`${name} is not installed in ${place.path}`);
  const fixed = findWhyFixed(before);
  if (fixed !== null) return refuse(fixed);
  const offered = await planner.index.files(name);
  if (!offered.ok) return refuse(offered.reason);
  if (isSourceOnly(offered.value, toVersion)) return refuse(sourceOnly(`${name} ${toVersion}`));
  const interpreter = await findInterpreter(place, planner.uids);
  if (!interpreter.ok) return refuse(interpreter.reason);

  const system = await readSystemPackages(place, interpreter.value, planner.identity);
  if (!system.ok) return refuse(system.reason);

  const target = { name, version: toVersion };
  const seen = seenFrom(state.value.distributions, system.value.distributions);
  const wheels = await resolve(planner, { interpreter: interpreter.value, seen, target });
  if (!wheels.ok) return refuse(wheels.reason);
  const bare = toActions(wheels.value, state.value.distributions, place);
  if (!bare.ok) return refuse(bare.reason);
  if (!wheels.value.some((wheel) => wheel.name === name)) {
    return refuse(`pip does not update ${name} to ${toVersion}`);
  }
  const actions = await addArtifacts(planner.index, bare.value, wheels.value);
  if (!actions.ok) return refuse(actions.reason);
  const plan = { resolved_at: resolvedAt.toISOString(), actions: actions.value };
  const fault = planFaults(plan)[0];
  if (fault) return refuse(`the plan is unsound at ${fault.path}: ${fault.message}`);
  if (!Check(Plan, plan)) return refuse('the plan exceeds the limits of the protocol');
  return { ok: true, plan };
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
  target: { name: string; version: string };
}

/** The wheels of the closure; refused when they would break a requirement that is met now. */
async function resolve(planner: Planner, question: Question): Promise<Parsed<ReportedWheel[]>> {
  const { interpreter, target, seen } = question;
  const { identity, index } = planner;
  const wheels = await withShadow({ interpreter, distributions: seen, identity }, (shadow) =>
    resolveWheels(shadow, target, { indexUrl: index.url }),
  );
  if (!wheels.ok) {
    return { ok: false, reason: (await explainSourceOnly(index, wheels.reason)) ?? wheels.reason };
  }
  const broken = await findBroken(seen, wheels.value, { interpreter, identity });
  if (!broken.ok) return broken;
  const [first] = broken.value;
  return first === undefined ? wheels : { ok: false, reason: `it would break the place: ${first}` };
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

function refuse(reason: string): PlanOutcome {
  return { ok: false, reason };
}
