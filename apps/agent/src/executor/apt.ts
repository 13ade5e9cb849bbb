import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { toActions } from '../ecosystems/apt/actions.ts';
import { heldReason } from '../ecosystems/apt/held.ts';
import {
  type AptPlaces,
  findAptPlaces,
  type InstalledPackage,
  type InstalledState,
  readInstalled,
} from '../ecosystems/apt/installed.ts';
import { type Parsed, parseTransaction } from '../ecosystems/apt/parse-transaction.ts';
import { archiveFilename } from '../ecosystems/apt/parse-uris.ts';
import {
  type AptSession,
  aptEnvironment,
  installPin,
  isSafeArgument,
  shownName,
  withAptSession,
} from '../ecosystems/apt/session.ts';
import { findLock, findShortage, findUnfinished } from '../ecosystems/apt/trouble.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { type OutputListener, runProgram } from '../platform/run-program.ts';
import { INSTALL_TIMEOUT_MS, LOCK_WAIT_MS, NAMED_MAX, QUIET_ENVIRONMENT } from './apt-run.ts';
import { addNote, type Commit, type Installer, type InstallJob, type InstallOutcome } from './installer.ts';
import {
  installedOf,
  nothingLeft,
  reachedNote,
  type SplitActions,
  splitReached,
  versionsByName,
} from './reached.ts';

/** apt's words when it gave up waiting, before it changed anything. */
const LOCKED = /^E: (?:Could not get lock|Unable to acquire the dpkg frontend lock)/m;

/** Installs approved apt transactions from staged files alone. */
export const aptInstaller: Installer = aptInstallerOf({});

interface Patience {
  /** How long another package manager may keep its lock before this one gives up. */
  lockWaitMs?: number;
  installTimeoutMs?: number;
}

export function aptInstallerOf({
  lockWaitMs = LOCK_WAIT_MS,
  installTimeoutMs = INSTALL_TIMEOUT_MS,
}: Patience): Installer {
  return {
    prepare: async (job, work) => {
      const places = await findAptPlaces(job.paths);
      if (!places.ok) return { ok: false, detail: places.reason };
      const lock = await findLock(places.value, { waitMs: lockWaitMs, pause });
      if (lock !== null) return { ok: false, ...lock };
      const state = await readInstalled(places.value);
      if (!state.ok) return { ok: false, detail: state.reason };
      const { packages } = state.value;
      const { actions } = job.approval.payload;
      const { reached, rest } = splitReached(actions, versionsByName(packages));
      const request = requestOf({ reached, rest }, job.stage);
      if (!request.ok) return { ok: false, detail: request.reason };
      if (rest.length === 0) return nothingLeft(reached, work);
      const trouble =
        findHeld(packages, rest) ??
        (await findUnfinished(places.value, state.value, actions)) ??
        (await findShortage(places.value, { rest, stage: job.stage }));
      if (trouble !== null) return { ok: false, ...trouble };
      const automatic = await readAutomatic(job.paths);
      const host = { places: places.value, installed: packages };
      const means = { request: request.value, host, automatic, reached, lockWaitMs, installTimeoutMs };
      // Last, so that nothing waits between it and the commit.
      const simulated = await simulate(job, means);
      if (!simulated.ok) return { ok: false, detail: simulated.reason };
      const commit: Commit = (onOutput) => install(job, means, onOutput);
      return { ok: true, value: await work({ actions: simulated.value, reached, commit }) };
    },
  };
}

/** A hold that was set after the plan: apt would refuse, and does not say which package it is. */
function findHeld(installed: readonly InstalledPackage[], rest: readonly PlanAction[]) {
  const held = installed.find(
    (pkg) => pkg.held && rest.some(({ name, arch }) => name === pkg.name && arch === pkg.arch),
  );
  return held === undefined ? null : { reason: 'package_held' as const, detail: heldReason(held) };
}

/** The inputs of simulation and commit. */
interface Means {
  request: readonly string[];
  host: HostFacts;
  /** Names of the packages that are marked as installed automatically. */
  automatic: Parsed<ReadonlySet<string>>;
  reached: readonly PlanAction[];
  lockWaitMs: number;
  installTimeoutMs: number;
}

/** apt resolves anew, from the same pins and files: what it may remove or downgrade is in the request. */
async function install(
  job: InstallJob,
  { request, host, automatic, reached, lockWaitMs, installTimeoutMs }: Means,
  onOutput: OutputListener | undefined,
): Promise<InstallOutcome> {
  const { actions, updates } = job.approval.payload;
  const run = await runProgram({
    program: 'apt-get',
    args: ['-y', '-q', '--no-download', ...installOptions(job.stage, lockWaitMs), ...request],
    timeoutMs: installTimeoutMs,
    maxOutputBytes: OUTPUT_TAIL_MAX_CHARS,
    onOverflow: 'keep_tail',
    onOutput,
    env: { ...aptEnvironment(job.paths), ...QUIET_ENVIRONMENT },
  });
  const output = run.stdout;
  const after = await readInstalled(host.places);
  const present = after.ok ? splitReached(actions, versionsByName(after.value.packages)) : null;
  const lacking = after.ok ? findLacking(actions, after.value) : after.reason;
  const started = present !== null && present.reached.length > reached.length;
  if (!run.ok && !started && LOCKED.test(run.stderr)) {
    const { detail, exitCode } = run;
    return { ok: false, reason: 'packages_locked', detail, exitCode, output };
  }
  // What counts is what is installed: a script of another package may have failed.
  if (lacking !== null) {
    const [detail, exitCode] = run.ok ? [lacking, 0] : [`${lacking}; ${run.detail}`, run.exitCode];
    const installed = installedOf(present?.reached ?? []);
    return { ok: false, reason: 'install_failed', detail, exitCode, output, installed };
  }
  const marked = automatic.ok
    ? await restoreAutomatic(job.paths, {
        actions,
        targets: new Set(updates.map(({ name }) => name)),
        before: automatic.value,
        reached,
        host,
      })
    : automatic.reason;
  const failure = run.ok ? null : `All of it is installed, although ${run.detail}`;
  const notes = [failure, marked, reachedNote(reached)].filter((note) => note !== null);
  const noted = notes.reduce((text, note) => addNote(onOutput, text, `\n${note}\n`), output);
  return { ok: true, installed: installedOf(actions), output: noted };
}

/**
 * The request to apt: every package pinned, removals and downgrades permitted only when approved and still to be
 * done. A reached version stays pinned; a reached removal may name a package that apt no longer knows.
 */
function requestOf({ reached, rest }: SplitActions, stage: string): Parsed<string[]> {
  const pins: string[] = [];
  // An earlier version may have left the archives: then apt knows it by its file alone.
  const isBack = [...reached, ...rest].some(({ action }) => action === 'downgrade');
  const stay = reached.filter(({ action }) => action !== 'remove');
  const wanted = [
    ...rest.map((one) => ({ one, isNew: true })),
    ...stay.map((one) => ({ one, isNew: false })),
  ];
  for (const { one, isNew } of wanted) {
    const { action, name, arch, from_version: from, to_version: to, artifact } = one;
    const version = action === 'remove' ? from : to;
    if (arch === undefined || version === undefined || !isSafeArgument({ name, arch, version })) {
      return { ok: false, reason: `apt does not accept the name or version of ${name}` };
    }
    // The stage is apt's archives folder: a file with another name could be its lock or its `partial`, or be
    // ignored.
    if (action !== 'remove' && artifact?.filename !== archiveFilename({ name, version, arch })) {
      return { ok: false, reason: `the file of ${name} does not have the name that apt looks for` };
    }
    if (isNew && isBack && artifact !== undefined) pins.push(join(stage, artifact.filename));
    else if (action !== 'remove') pins.push(installPin({ name, arch, version }));
    else pins.push(arch === 'all' ? `${name}-` : `${name}:${arch}-`);
  }
  const kinds = new Set(rest.map(({ action }) => action));
  const options = [
    ...(kinds.has('remove') ? [] : ['--no-remove']),
    ...(kinds.has('downgrade') ? ['--allow-downgrades'] : []),
  ];
  return { ok: true, value: [...options, 'install', ...pins] };
}

interface HostFacts {
  places: AptPlaces;
  installed: readonly InstalledPackage[];
}

/** apt's transaction as of now; fails if apt would take a file from outside the stage. */
async function simulate(
  { paths, stage }: InstallJob,
  { request, host: { places, installed } }: Pick<Means, 'request' | 'host'>,
): Promise<Parsed<PlanAction[]>> {
  await mkdir(join(stage, 'partial'), { recursive: true }); // apt does not start without it
  await chmod(join(stage, 'partial'), 0o700);
  const ask = async (session: AptSession): Promise<Parsed<PlanAction[]>> => {
    const run = await session.run('apt-get', ['-s', '-y', '--no-download', ...request]);
    if (!run.ok) return { ok: false, reason: run.detail };
    const transaction = parseTransaction(run.stdout);
    if (!transaction.ok) return transaction;
    const elsewhere = await session.run('apt-get', ['-qq', '-y', '--print-uris', ...request]);
    if (!elsewhere.ok) return { ok: false, reason: elsewhere.detail };
    const uri = elsewhere.stdout.split('\n').find((line) => line.startsWith("'"));
    if (uri !== undefined)
      return { ok: false, reason: `apt would fetch a file that is not staged: ${uri.slice(0, 300)}` };
    return toActions(transaction.value, installed, places);
  };
  return withAptSession(paths, ask, { archives: stage });
}

function installOptions(stage: string, lockWaitMs: number): string[] {
  return [
    `Dir::Cache::archives=${stage}/`,
    'Dpkg::Options::=--force-confdef', // a changed configuration file stays the administrator's
    'Dpkg::Options::=--force-confold',
    'Dpkg::Use-Pty=0',
    `DPkg::Lock::Timeout=${Math.ceil(lockWaitMs / 1_000)}`,
    'APT::Sandbox::User=root', // nothing is downloaded, so the stage is not given to apt's own user
    'APT::Get::AutomaticRemove=false',
    'APT::Get::Purge=false',
    'APT::Get::AllowUnauthenticated=false',
    'APT::Keep-Downloaded-Packages=true', // the stage is the executor's to remove
  ].flatMap((option) => ['-o', option]);
}

/** What of the approval is not installed, and what is; null when all of it is. */
function findLacking(
  actions: readonly PlanAction[],
  { packages, broken }: Pick<InstalledState, 'packages' | 'broken'>,
): string | null {
  const { reached, rest } = splitReached(actions, versionsByName(packages));
  if (rest.length === 0) return null;
  const lacking = rest.map(({ action, name, arch, to_version: to }) => {
    const isThis = (pkg: { name: string; arch: string }) => pkg.name === name && pkg.arch === arch;
    const half = broken.find(isThis);
    const version = packages.find(isThis)?.version ?? 'not installed';
    if (half !== undefined) return `${name} ${half.version} is ${half.state}`;
    return action === 'remove' ? `${name} ${version} is still installed` : `${name} is ${version}, not ${to}`;
  });
  const done = reached.map(({ name, to_version: to }) =>
    to === undefined ? `${name} removed` : `${name} ${to}`,
  );
  const named = (texts: readonly string[]) =>
    `${texts.slice(0, NAMED_MAX).join(', ')}${texts.length > NAMED_MAX ? `, ${texts.length - NAMED_MAX} more` : ''}`;
  return `${named(lacking)}; installed as approved: ${done.length === 0 ? 'nothing' : named(done)}`;
}

async function readAutomatic(paths: HostPaths): Promise<Parsed<ReadonlySet<string>>> {
  const marks = await runMark(paths, ['showauto']);
  if (!marks.ok) return { ok: false, reason: marks.detail };
  return { ok: true, value: new Set(marks.stdout.split('\n').filter((name) => name !== '')) };
}

/**
 * apt marks packages named on the command line as manually installed. Restores the automatic marks of
 * dependencies, so that autoremove still finds them. Returns a failure as text for the output; the update stands.
 */
async function restoreAutomatic(
  paths: HostPaths,
  work: {
    actions: readonly PlanAction[];
    targets: ReadonlySet<string>;
    before: ReadonlySet<string>;
    reached: readonly PlanAction[];
    host: HostFacts;
  },
): Promise<string | null> {
  const { nativeArch } = work.host.places;
  const names = work.actions
    .filter(({ action, name }) => action !== 'remove' && (action !== 'install' || !work.targets.has(name)))
    .map((action) => ({
      name: shownName(action, nativeArch),
      isNew: action.action === 'install' && !work.reached.includes(action),
    }))
    .filter(({ name, isNew }) => isNew || work.before.has(name))
    .map(({ name }) => name);
  if (names.length === 0) return null;
  const marked = await runMark(paths, ['auto', ...names]);
  return marked.ok ? null : `automatic marks could not be restored: ${marked.detail}`;
}

function runMark(paths: HostPaths, args: readonly string[]) {
  const limits = { timeoutMs: 60_000, maxOutputBytes: 8 * 1024 * 1024 };
  return runProgram({ program: 'apt-mark', args, env: aptEnvironment(paths), ...limits });
}
