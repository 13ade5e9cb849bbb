import { chmod, constants, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { takesBack } from '@tidegate/protocol/rollbacks';
import { compareVersions } from '@tidegate/versions';
import { toActions } from '../ecosystems/pypi/actions.ts';
import { type Distribution, readInstalled } from '../ecosystems/pypi/installed.ts';
import { isName, isVersion } from '../ecosystems/pypi/names-rules.ts';
import type { CoreMetadata } from '../ecosystems/pypi/parse-metadata.ts';
import { type PypiPlace, userBase } from '../ecosystems/pypi/places.ts';
import type { Parsed } from '../ecosystems/pypi/read-file.ts';
import { findUnmet, resolvePins, resolveWheels } from '../ecosystems/pypi/resolve.ts';
import { PIP_OPTIONS, pipEnvironment, type Shadow, withShadow } from '../ecosystems/pypi/shadow.ts';
import { readSystemPackages, seenFrom } from '../ecosystems/pypi/system-packages.ts';
import { undoTransaction } from '../ecosystems/pypi/undo.ts';
import { type OutputListener, runProgram } from '../platform/run-program.ts';
import { addNote, type Commit, type Installer, type InstallJob, type InstallOutcome } from './installer.ts';
import { type OpenedPlace, openPlace, seenIn } from './pypi-place.ts';
import { type InstalledVersions, installedOf, nothingLeft, reachedNote, splitReached } from './reached.ts';

/** Enough for large wheels on a slow disk; interrupting pip does more harm than waiting. */
const INSTALL_TIMEOUT_MS = 2 * 60 * 60_000;

/** Installs approved wheels into one environment or a user's own packages, as the owner, from staged files alone. */
export const pypiInstaller: Installer = pypiInstallerOf();

/** `systemPrefix` is where the host's own interpreters are; the usual place unless given. */
export function pypiInstallerOf(systemPrefix?: string): Installer {
  return {
    prepare: async (job, work) => {
      const { payload } = job.approval;
      const opened = await openPlace(payload, systemPrefix);
      if (!opened.ok) return { ok: false, detail: opened.reason };
      const { actions } = payload;
      const { reached, rest } = splitReached(actions, versionsIn(opened.value, actions));
      if (rest.length === 0) return nothingLeft(reached, work);
      return withStaged(job, opened.value, async (staged) => {
        const simulated = takesBack(payload)
          ? await simulateUndo(rest, opened.value, staged)
          : await simulate(job, opened.value, staged);
        if (!simulated.ok) return { ok: false, detail: simulated.reason };
        const means = { opened: opened.value, staged, reached };
        const commit: Commit = (onOutput) => install(actions, means, onOutput);
        return { ok: true, value: await work({ actions: simulated.value, reached, commit }) };
      });
    },
  };
}

/** A version that is spelt differently in the metadata is the approved one. */
function versionsIn(
  { distributions }: { distributions: readonly CoreMetadata[] },
  actions: readonly PlanAction[],
): InstalledVersions {
  const approved = new Map(actions.map(({ name, to_version: to }) => [name, to]));
  return ({ name }) =>
    distributions
      .filter((distribution) => distribution.name === name)
      .map(({ version }) => {
        const to = approved.get(name);
        return to !== undefined && isSameVersion(version, to) ? to : version;
      });
}

interface Staged {
  shadow: Shadow;
  /** Copies of the staged files that the place's owner can read and only root can write. */
  wheels: string;
}

/** Only root can read the stage, so its files are copied to where the place's owner can read but not change them. */
async function withStaged<T>(
  { approval, stage }: InstallJob,
  opened: OpenedPlace,
  work: (staged: Staged) => Promise<T>,
): Promise<T> {
  const { interpreter, identity } = opened;
  return withShadow({ interpreter, distributions: seenIn(opened), identity }, async (shadow) => {
    const wheels = join(shadow.folder, 'wheels');
    await mkdir(wheels);
    await chmod(wheels, 0o755);
    for (const { artifact } of approval.payload.actions) {
      if (artifact === undefined) continue;
      const copy = join(wheels, artifact.filename);
      await copyFile(
        join(stage, artifact.filename),
        copy,
        constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE,
      );
      await chmod(copy, 0o644);
    }
    return work({ shadow, wheels });
  });
}

/** pip's transaction as of now; fails if pip would take a file that is not approved. */
async function simulate(
  { approval }: InstallJob,
  { distributions, place }: OpenedPlace,
  { shadow, wheels }: Staged,
): Promise<Parsed<PlanAction[]>> {
  const { actions, updates } = approval.payload;
  const asked = updates.map(({ name, to_version: version }) => ({ name, version }));
  const foreign = asked.find(({ name, version }) => !isName(name) || !isVersion(version));
  if (foreign !== undefined)
    return { ok: false, reason: `pip does not accept the name or version of ${foreign.name}` };
  const resolved = await resolveWheels(shadow, asked, { folder: wheels });
  if (!resolved.ok) return resolved;
  const strange = findForeignWheel(resolved.value, actions);
  if (strange !== null) return { ok: false, reason: strange };
  return toActions(resolved.value, distributions, place);
}

/** Why a wheel that pip would take is not an approved one; null when each is. */
function findForeignWheel(
  wheels: readonly { name: string; filename: string }[],
  actions: readonly PlanAction[],
): string | null {
  const foreign = wheels.find(
    ({ name, filename }) => actions.find((action) => action.name === name)?.artifact?.filename !== filename,
  );
  return foreign === undefined ? null : `pip would take ${foreign.filename}, which is not approved`;
}

/**
 * What a rollback would do as of now: pip reads each staged wheel by name and resolves nothing. A requirement that is met
 * now must be met afterwards.
 */
async function simulateUndo(
  rest: readonly PlanAction[],
  opened: OpenedPlace,
  { shadow, wheels }: Staged,
): Promise<Parsed<PlanAction[]>> {
  const pins = rest.flatMap(({ name, to_version: version }) => (version ? [{ name, version }] : []));
  const read = await resolvePins(shadow, pins, { folder: wheels });
  if (!read.ok) return read;
  const foreign = findForeignWheel(read.value, rest);
  if (foreign !== null) return { ok: false, reason: foreign };
  const { identity, system } = opened;
  const seen = { ...opened, system: system.distributions };
  return undoTransaction(seen, { rest, wheels: read.value, identity });
}

/**
 * pip does not resolve here: it installs these wheels by hash, without dependencies, and removes what a rollback names
 * after them.
 */
async function install(
  actions: readonly PlanAction[],
  { opened, staged, reached }: { opened: OpenedPlace; staged: Staged; reached: readonly PlanAction[] },
  onOutput: OutputListener | undefined,
): Promise<InstallOutcome> {
  const { place, distributions, system } = opened;
  const rest = actions.filter((action) => !reached.includes(action));
  const run = await runSteps(await stepsOf(rest, staged), { opened, staged, onOutput });
  const { output } = run;
  const after = await readInstalled(place);
  const [fault] = after.faults;
  const lacking =
    fault ??
    findLacking(actions, { before: distributions, after: after.distributions }) ??
    (await findChangeOfSystem(opened));
  if (!run.ok) {
    const left = describeLeft(actions, after.distributions);
    return {
      ok: false,
      reason: 'install_failed',
      installed: installedOf(splitReached(actions, versionsIn(after, actions)).reached),
      detail: `${run.detail}; ${left}`,
      exitCode: run.exitCode,
      output,
    };
  }
  if (lacking !== null) return { ok: false, reason: 'install_failed', detail: lacking, exitCode: 0, output };
  const unmet = await describeUnmet(opened, seenFrom(after.distributions, system.distributions));
  const notes = [unmet, reachedNote(reached)].filter((note) => note !== null);
  const noted = addNote(onOutput, output, `\n${notes.join('\n')}\n`);
  return { ok: true, installed: installedOf(actions), output: noted };
}

/** The runs of pip that actions need: what comes, then what goes. */
async function stepsOf(rest: readonly PlanAction[], { shadow, wheels }: Staged): Promise<string[][]> {
  const coming = rest.filter(({ action }) => action !== 'remove');
  const going = rest.filter(({ action }) => action === 'remove').map(({ name }) => name);
  const steps: string[][] = [];
  if (coming.length > 0) {
    const pins = coming.map(
      ({ name, to_version: version, artifact }) => `${name}==${version} --hash=sha256:${artifact?.sha256}\n`,
    );
    // pip hashes the files it reads once more.
    const requirements = await shadow.addRequirements(pins.join(''));
    steps.push([
      ...['install', ...PIP_OPTIONS, '--no-index', '--find-links', wheels, '--require-hashes', '--no-deps'],
      ...['--only-binary=:all:', '--no-warn-script-location', '--progress-bar=off', '-r', requirements],
    ]);
  }
  if (going.length > 0) steps.push(['uninstall', ...PIP_OPTIONS, '--yes', ...going]);
  return steps;
}

/** One run after another, until one fails; the output is that of all. */
async function runSteps(
  steps: readonly string[][],
  {
    opened: { place, identity, interpreter },
    staged: { shadow },
    onOutput,
  }: { opened: OpenedPlace; staged: Staged; onOutput: OutputListener | undefined },
): Promise<
  { ok: true; output: string } | { ok: false; output: string; detail: string; exitCode: number | null }
> {
  let output = '';
  for (const [work = '', ...options] of steps) {
    const isUser = place.kind === 'user';
    const run = await runProgram({
      program: isUser ? interpreter.python : place.python,
      args: [
        ...(isUser ? [shadow.pip, work] : ['-I', shadow.pip, work]),
        ...(isUser && work === 'install' ? ['--user'] : []),
        ...options,
      ],
      timeoutMs: INSTALL_TIMEOUT_MS,
      maxOutputBytes: OUTPUT_TAIL_MAX_CHARS,
      onOverflow: 'keep_tail',
      onOutput,
      env: { ...pipEnvironment(shadow.scratch), ...userEnvironment(place) },
      identity,
      cwd: shadow.scratch,
    });
    output = `${output}${run.stdout}`.slice(-OUTPUT_TAIL_MAX_CHARS);
    if (!run.ok) return { ok: false, output, detail: run.detail, exitCode: run.exitCode };
  }
  return { ok: true, output };
}

/**
 * An isolated interpreter (-I) sees no user packages, so it runs without; the clean environment excludes the
 * rest.
 */
function userEnvironment(place: PypiPlace): Record<string, string> {
  return place.kind === 'user' ? { PYTHONUSERBASE: userBase(place) } : {};
}

/** The system's packages must be unchanged. */
async function findChangeOfSystem({
  place,
  interpreter,
  identity,
  system,
}: OpenedPlace): Promise<string | null> {
  const after = await readSystemPackages(place, interpreter, identity);
  if (!after.ok) return after.reason;
  const change = findLacking([], { before: system.distributions, after: after.value.distributions });
  return change === null ? null : `of the system's packages ${change}`;
}

/**
 * The first deviation from the approval although pip reported success; null when there is none and the rest is
 * unchanged.
 */
function findLacking(
  actions: readonly PlanAction[],
  { before, after }: { before: readonly CoreMetadata[]; after: readonly CoreMetadata[] },
): string | null {
  const expected = new Map(before.map(({ name, version }) => [name, version]));
  for (const { name, to_version: to } of actions) {
    if (to === undefined) expected.delete(name);
    else expected.set(name, to);
  }
  const actual = new Map(after.map(({ name, version }) => [name, version]));
  for (const name of new Set([...expected.keys(), ...actual.keys()])) {
    const [wanted, found] = [expected.get(name), actual.get(name)];
    if (wanted !== found && !isSameVersion(wanted, found))
      return `${name} is ${found ?? 'not installed'}, not ${wanted ?? 'absent'}`;
  }
  return null;
}

/** The version in a project's metadata may be spelt differently than in its file name. */
function isSameVersion(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && compareVersions('pypi', a, b) === 0;
}

/** pip rolls back the failed package and keeps those installed before it. */
function describeLeft(actions: readonly PlanAction[], after: readonly Distribution[]): string {
  const now = actions.map(({ name }) => {
    const version = after.find((distribution) => distribution.name === name)?.version;
    return `${name} is ${version ?? 'not installed'}`;
  });
  return `now ${now.join(', ')}`.slice(0, 1_000);
}

/** The unmet requirements of the place, for the output; the update stands. */
async function describeUnmet(
  { interpreter, identity }: OpenedPlace,
  distributions: readonly CoreMetadata[],
): Promise<string> {
  const unmet = await withShadow({ interpreter, distributions, identity }, findUnmet);
  if (!unmet.ok) return `whether all requirements are met is unknown: ${unmet.reason}`;
  return unmet.value.size === 0 ? 'All requirements are met.' : [...unmet.value].join('\n');
}
