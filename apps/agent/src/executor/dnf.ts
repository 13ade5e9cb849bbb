import { join } from 'node:path';
import { OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { toActions } from '../ecosystems/dnf/actions.ts';
import { parseAnswer, TransactionAnswer } from '../ecosystems/dnf/answers.ts';
import { type InstalledPackage, readInstalled } from '../ecosystems/dnf/installed.ts';
import { isSafeArgument, rpmFilename } from '../ecosystems/dnf/names-rules.ts';
import { findDnfPlaces, type Parsed } from '../ecosystems/dnf/places.ts';
import { type DnfSession, withDnfSession } from '../ecosystems/dnf/session.ts';
import type { OutputListener } from '../platform/run-program.ts';
import {
  addNote,
  type Commit,
  type Installer,
  type InstallJob,
  type InstallOutcome,
  type Prepared,
  type Transaction,
} from './installer.ts';
import { installedOf, nothingLeft, reachedNote, splitReached, versionsByName } from './reached.ts';

/** Enough for a large upgrade on a slow disk; interrupting rpm does more harm than waiting. */
const INSTALL_TIMEOUT_MS = 2 * 60 * 60_000;
/** Prefixes of the program's reasons that are no drift. */
const REASONS = ['artifact_unsigned', 'packages_locked', 'transaction_interrupted'] as const;
/** How long another package manager may work before this one gives up. */
const LOCK_WAIT_SECONDS = 300;
/** rpm's words in its test of the transaction, before it changes anything. */
const NO_SPACE = /more space needed on the .* filesystem/;
/** Exit code of the program when the transaction has changed since the simulation. */
const EXIT_DRIFT = 3;

/** Installs approved dnf transactions from staged files alone: no repository is read, every signature is checked. */
export const dnfInstaller: Installer = dnfInstallerOf(findDnfPlaces);

export function dnfInstallerOf(
  findPlaces: typeof findDnfPlaces,
  lockWaitSeconds = LOCK_WAIT_SECONDS,
): Installer {
  return {
    prepare: async (job, work) => {
      const { actions } = job.approval.payload;
      const named = findUnusable(actions);
      if (named !== null) return { ok: false, detail: named };
      const places = await findPlaces(job.paths);
      if (!places.ok) return { ok: false, detail: places.reason };
      const done = await withDnfSession(places.value, null, (session) =>
        prepareIn(session, { ...job, lockWaitSeconds }, work),
      );
      if (done.ok) return done.value;
      const { reason: detail } = done;
      const reason = REASONS.find((one) => detail.startsWith(`${one}:`));
      return reason === undefined ? { ok: false, detail } : { ok: false, detail, reason };
    },
  };
}

async function prepareIn<T>(
  session: DnfSession,
  { approval, stage, lockWaitSeconds }: InstallJob & { lockWaitSeconds: number },
  work: (transaction: Transaction) => Promise<T>,
): Promise<Parsed<Prepared<T>>> {
  const { actions } = approval.payload;
  const before = await readInstalled(session);
  if (!before.ok) return before;
  const { reached, rest } = splitReached(actions, installedVersions(before.value));
  if (rest.length === 0) return { ok: true, value: await nothingLeft(reached, work) };
  const request = { ...requestOf(rest, stage), lock_wait_seconds: lockWaitSeconds };
  const simulated = await simulate(session, request);
  if (!simulated.ok) return simulated;
  const commit: Commit = (onOutput) => install(session, { request, actions, reached }, onOutput);
  const value = await work({ actions: simulated.value, reached, commit });
  return { ok: true, value: { ok: true, value } };
}

/** The request to dnf: the staged files, with removals permitted only when approved and still to be done. */
interface StageRequest {
  files: string[];
  /** What the staged files bring, and what goes for it or by itself. */
  coming: { name: string; arch: string }[];
  going: { name: string; arch: string; evr: string }[];
  removals: boolean;
  lock_wait_seconds: number;
}

/** The files of what is left to do: a package that is installed already would be "nothing to do" or a fault. */
function requestOf(rest: readonly PlanAction[], stage: string): Omit<StageRequest, 'lock_wait_seconds'> {
  const files = rest.flatMap(({ artifact }) => (artifact ? [join(stage, artifact.filename)] : []));
  const coming = rest.flatMap(({ name, arch = '', to_version: to }) => (to ? [{ name, arch }] : []));
  const going = rest.flatMap(({ name, arch = '', from_version: evr }) => (evr ? [{ name, arch, evr }] : []));
  return { files, coming, going, removals: rest.some(({ action }) => action === 'remove') };
}

/** Why dnf does not accept an action; null when it accepts all. */
function findUnusable(actions: readonly PlanAction[]): string | null {
  for (const { action, name, arch, from_version: from, to_version: to, artifact } of actions) {
    const evr = action === 'remove' ? from : to;
    if (arch === undefined || evr === undefined || !isSafeArgument({ name, evr, arch })) {
      return `dnf does not accept the name or version of ${name}`;
    }
    if (action !== 'remove' && artifact?.filename !== rpmFilename({ name, evr, arch })) {
      return `the file of ${name} does not have the name of its package`;
    }
  }
  return null;
}

function installedVersions(installed: readonly InstalledPackage[]) {
  return versionsByName(installed.map(({ name, arch, evr }) => ({ name, arch, version: evr })));
}

/** dnf's transaction as of now, from staged files that are each signed by a key that rpm trusts. */
async function simulate(session: DnfSession, request: StageRequest): Promise<Parsed<PlanAction[]>> {
  const answer = parseAnswer(await session.ask('simulate', { ...request }), TransactionAnswer);
  return answer.ok ? toActions(answer.value) : answer;
}

/** The installing process resolves again, checks the signatures and compares once more. */
async function install(
  session: DnfSession,
  {
    request,
    actions,
    reached,
  }: { request: StageRequest; actions: readonly PlanAction[]; reached: readonly PlanAction[] },
  onOutput: OutputListener | undefined,
): Promise<InstallOutcome> {
  const run = await session.ask(
    'install',
    { ...request, expected: expectedChanges(actions.filter((action) => !reached.includes(action))) },
    {
      timeoutMs: INSTALL_TIMEOUT_MS,
      maxOutputBytes: OUTPUT_TAIL_MAX_CHARS,
      onOverflow: 'keep_tail',
      onOutput,
    },
  );
  const output = run.stdout;
  if (!run.ok) {
    const { detail, exitCode } = run;
    if (NO_SPACE.test(detail)) return { ok: false, reason: 'space_insufficient', detail, exitCode, output };
    if (exitCode === EXIT_DRIFT) return { ok: false, reason: 'plan_drift', detail, exitCode, output };
    return { ok: false, reason: 'install_failed', detail, exitCode, output };
  }
  const after = await readInstalled(session);
  const lacking = after.ok ? findLacking(actions, after.value) : after.reason;
  if (lacking !== null) {
    return { ok: false, reason: 'install_failed', detail: lacking, exitCode: 0, output };
  }
  const note = reachedNote(reached);
  const noted = note === null ? output : addNote(onOutput, output, `\n${note}\n`);
  return { ok: true, installed: installedOf(actions), output: noted };
}

/** The approved transaction in dnf's terms: installed and removed packages. */
function expectedChanges(actions: readonly PlanAction[]): string[][] {
  return actions.flatMap(({ name, arch = '', from_version: from, to_version: to }) => [
    ...(to === undefined ? [] : [['coming', name, arch, to]]),
    ...(from === undefined ? [] : [['going', name, arch, from]]),
  ]);
}

/** The first deviation from the approval although dnf reported success; null when there is none. */
function findLacking(actions: readonly PlanAction[], installed: readonly InstalledPackage[]): string | null {
  const present = new Set(installed.map(({ name, arch, evr }) => `${name}.${arch} ${evr}`));
  for (const { name, arch, from_version: from, to_version: to } of actions) {
    if (to !== undefined && !present.has(`${name}.${arch} ${to}`)) return `${name} ${to} is not installed`;
    if (from !== undefined && present.has(`${name}.${arch} ${from}`))
      return `${name} ${from} is still installed`;
  }
  return null;
}
