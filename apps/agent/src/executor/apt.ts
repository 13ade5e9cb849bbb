import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { toActions } from '../ecosystems/apt/actions.ts';
import {
  type AptPlaces,
  findAptPlaces,
  type InstalledPackage,
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
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { type OutputListener, runProgram } from '../platform/run-program.ts';
import { addNote, type Commit, type Installer, type InstallJob, type InstallOutcome } from './installer.ts';
import {
  installedOf,
  nothingLeft,
  reachedNote,
  type SplitActions,
  splitReached,
  versionsByName,
} from './reached.ts';

/** Enough for a large upgrade on a slow disk; interrupting dpkg does more harm than waiting. */
const INSTALL_TIMEOUT_MS = 2 * 60 * 60_000;
/** How long another package manager may keep its lock before this one gives up. */
const LOCK_WAIT_SECONDS = 300;

/** Installs approved apt transactions from staged files alone. */
export const aptInstaller: Installer = {
  prepare: async (job, work) => {
    const host = await readHost(job.paths);
    if (!host.ok) return { ok: false, detail: host.reason };
    const { reached, rest } = splitReached(
      job.approval.payload.actions,
      versionsByName(host.value.installed),
    );
    const request = requestOf({ reached, rest });
    if (!request.ok) return { ok: false, detail: request.reason };
    if (rest.length === 0) return nothingLeft(reached, work);
    const automatic = await readAutomatic(job.paths);
    const means = { request: request.value, host: host.value, automatic, reached };
    // Last, so that nothing waits between it and the commit.
    const simulated = await simulate(job, means);
    if (!simulated.ok) return { ok: false, detail: simulated.reason };
    const commit: Commit = (onOutput) => install(job, means, onOutput);
    return { ok: true, value: await work({ actions: simulated.value, reached, commit }) };
  },
};

/** The inputs of simulation and commit. */
interface Means {
  request: readonly string[];
  host: HostFacts;
  /** Names of the packages that are marked as installed automatically. */
  automatic: Parsed<ReadonlySet<string>>;
  reached: readonly PlanAction[];
}

/** apt resolves anew, from the same pins and files: what it may remove or downgrade is in the request. */
async function install(
  job: InstallJob,
  { request, host, automatic, reached }: Means,
  onOutput: OutputListener | undefined,
): Promise<InstallOutcome> {
  const { actions, package: target } = job.approval.payload;
  const run = await runProgram({
    program: 'apt-get',
    args: ['-y', '-q', '--no-download', ...installOptions(job.stage), ...request],
    timeoutMs: INSTALL_TIMEOUT_MS,
    maxOutputBytes: OUTPUT_TAIL_MAX_CHARS,
    onOverflow: 'keep_tail',
    onOutput,
    env: {
      ...aptEnvironment(job.paths),
      APT_LISTCHANGES_FRONTEND: 'none',
      APT_LISTBUGS_FRONTEND: 'none',
      UCF_FORCE_CONFFOLD: '1',
    },
  });
  const output = run.stdout;
  if (!run.ok)
    return { ok: false, reason: 'install_failed', detail: run.detail, exitCode: run.exitCode, output };

  const after = await readInstalled(host.places);
  const lacking = after.ok ? findLacking(actions, after.value.packages) : after.reason;
  if (!after.ok || lacking !== null) {
    return { ok: false, reason: 'install_failed', detail: lacking ?? '', exitCode: 0, output };
  }
  const marked = automatic.ok
    ? await restoreAutomatic(job.paths, {
        actions,
        target: target.name,
        before: automatic.value,
        reached,
        host,
      })
    : automatic.reason;
  const notes = [marked, reachedNote(reached)].filter((note) => note !== null);
  const noted = notes.reduce((text, note) => addNote(onOutput, text, `\n${note}\n`), output);
  return { ok: true, installed: installedOf(actions), output: noted };
}

/**
 * The request to apt: every package pinned, removals and downgrades permitted only when approved and still to be
 * done. A reached version stays pinned; a reached removal may name a package that apt no longer knows.
 */
function requestOf({ reached, rest }: SplitActions): Parsed<string[]> {
  const pins: string[] = [];
  const stay = reached.filter(({ action }) => action !== 'remove');
  for (const { action, name, arch, from_version: from, to_version: to, artifact } of [...rest, ...stay]) {
    const version = action === 'remove' ? from : to;
    if (arch === undefined || version === undefined || !isSafeArgument({ name, arch, version })) {
      return { ok: false, reason: `${name} cannot be given to apt` };
    }
    // The stage is apt's archives folder: a file with another name could be its lock or its `partial`, or be
    // ignored.
    if (action !== 'remove' && artifact?.filename !== archiveFilename({ name, version, arch })) {
      return { ok: false, reason: `the file of ${name} does not have the name that apt looks for` };
    }
    if (action !== 'remove') pins.push(installPin({ name, arch, version }));
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

async function readHost(paths: HostPaths): Promise<Parsed<HostFacts>> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return places;
  const installed = await readInstalled(places.value);
  if (!installed.ok) return installed;
  return { ok: true, value: { places: places.value, installed: installed.value.packages } };
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

function installOptions(stage: string): string[] {
  return [
    `Dir::Cache::archives=${stage}/`,
    'Dpkg::Options::=--force-confdef', // a changed configuration file stays the administrator's
    'Dpkg::Options::=--force-confold',
    'Dpkg::Use-Pty=0',
    `DPkg::Lock::Timeout=${LOCK_WAIT_SECONDS}`,
    'APT::Sandbox::User=root', // nothing is downloaded, so the stage is not given to apt's own user
    'APT::Get::AutomaticRemove=false',
    'APT::Get::Purge=false',
    'APT::Get::AllowUnauthenticated=false',
    'APT::Keep-Downloaded-Packages=true', // the stage is the executor's to remove
  ].flatMap((option) => ['-o', option]);
}

/** The first deviation from the approval although apt reported success; null when there is none. */
function findLacking(actions: readonly PlanAction[], installed: readonly InstalledPackage[]): string | null {
  const versions = new Map(installed.map(({ name, arch, version }) => [`${name}:${arch}`, version]));
  for (const { action, name, arch, to_version: to } of actions) {
    const version = versions.get(`${name}:${arch}`);
    if (action === 'remove' && version !== undefined) return `${name} ${version} is still installed`;
    if (action !== 'remove' && version !== to) return `${name} is ${version ?? 'not installed'}, not ${to}`;
  }
  return null;
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
    target: string;
    before: ReadonlySet<string>;
    reached: readonly PlanAction[];
    host: HostFacts;
  },
): Promise<string | null> {
  const { nativeArch } = work.host.places;
  const names = work.actions
    .filter(({ action, name }) => action !== 'remove' && (action !== 'install' || name !== work.target))
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
