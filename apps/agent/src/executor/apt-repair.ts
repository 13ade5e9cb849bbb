import { setTimeout as pause } from 'node:timers/promises';
import { OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import { REPAIR_SCRIPTS, type Repair, type RepairPackage } from '@tidegate/protocol/repairs';
import {
  type AptPlaces,
  findAptPlaces,
  type InstalledState,
  isInterrupted,
  readInstalled,
} from '../ecosystems/apt/installed.ts';
import type { Parsed } from '../ecosystems/apt/parse-transaction.ts';
import { findRepair, keyOf } from '../ecosystems/apt/repair.ts';
import { aptEnvironment } from '../ecosystems/apt/session.ts';
import { findLock } from '../ecosystems/apt/trouble.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { type OutputListener, runProgram } from '../platform/run-program.ts';
import { INSTALL_TIMEOUT_MS, LOCK_WAIT_MS, NAMED_MAX, QUIET_ENVIRONMENT } from './apt-run.ts';
import { addNote, type InstalledVersion } from './installer.ts';
import type { Repairer, RepairOutcome } from './repairer.ts';

/** dpkg's words when another program has its lock. */
const LOCKED = /^dpkg: error: .* lock/m;
const OPTIONS_TIMEOUT_MS = 60_000;
const OPTIONS_MAX_BYTES = 64 * 1024;

/** Finishes packages with dpkg, and no others than were signed. */
export const aptRepairer: Repairer = aptRepairerOf({});

/** Both times in milliseconds: how long another package manager may keep its lock, and the repair may take. */
export function aptRepairerOf({
  lockWaitMs = LOCK_WAIT_MS,
  timeoutMs = INSTALL_TIMEOUT_MS,
}: {
  lockWaitMs?: number;
  timeoutMs?: number;
}): Repairer {
  return {
    prepare: async (paths, repair) => {
      const places = await findAptPlaces(paths);
      if (!places.ok) return { ok: false, reason: 'unsupported_ecosystem', detail: places.reason };
      const lock = await findLock(places.value, { waitMs: lockWaitMs, pause });
      if (lock !== null) return { ok: false, ...lock };
      const options = await readOptions(paths);
      if (!options.ok) return { ok: false, reason: 'repair_differs', detail: options.reason };
      // Last, so that nothing waits between it and the commit.
      const left = await findLeft(places.value, repair);
      if (!left.ok) return { ok: false, reason: 'repair_differs', detail: left.reason };
      const work = {
        paths,
        places: places.value,
        repair,
        options: options.value,
        timeoutMs,
        left: left.value,
      };
      return { ok: true, commit: (onOutput) => configure(work, onOutput) };
    },
  };
}

/** The signed packages that are still unfinished; fails where the host has an unfinished one that was not signed. */
async function findLeft(places: AptPlaces, { packages }: Repair): Promise<Parsed<RepairPackage[]>> {
  const installed = await readInstalled(places);
  if (!installed.ok) return installed;
  const found = findRepair(places, installed.value);
  if (!found.ok) return found;
  const signed = new Map(packages.map((each) => [keyOf(each), each]));
  for (const each of found.value.packages) {
    const difference = differenceOf(each, signed.get(keyOf(each)));
    if (difference !== null) return { ok: false, reason: difference };
  }
  return { ok: true, value: found.value.packages };
}

/** What of an unfinished package is not as signed, as a sentence; null when all of it is. */
function differenceOf(found: RepairPackage, signed: RepairPackage | undefined): string | null {
  const { name, version, state } = found;
  if (signed === undefined) return `${name} ${version} is ${state} as well, and that was not approved`;
  if (version !== signed.version) return `${name} is ${version}, and ${signed.version} was approved`;
  if (state !== signed.state) return `${name} ${version} is ${state}, and was ${signed.state}`;
  for (const script of REPAIR_SCRIPTS) {
    if (found.scripts[script] !== signed.scripts[script]) {
      return `the ${script} script of ${name} ${version} is not the one that was approved`;
    }
  }
  return null;
}

interface Work {
  paths: HostPaths;
  places: AptPlaces;
  repair: Repair;
  options: readonly string[];
  timeoutMs: number;
  left: readonly RepairPackage[];
}

async function configure(work: Work, onOutput: OutputListener | undefined): Promise<RepairOutcome> {
  const { paths, places, repair, options, timeoutMs, left } = work;
  if (left.length === 0 && !(await isInterrupted(places))) {
    const note = 'Nothing was left to do: the host has no unfinished package.\n';
    const installed = completeOf(repair, await readInstalled(places));
    return { ok: true, installed, output: addNote(onOutput, '', note) };
  }
  // Without a package dpkg only completes its database: nothing is pending, as was just seen.
  const targets = left.length === 0 ? ['--no-triggers', '--pending'] : left.map(keyOf);
  const run = await runProgram({
    program: 'dpkg',
    args: [...options, '--force-confdef', '--force-confold', '--configure', ...targets],
    timeoutMs,
    maxOutputBytes: OUTPUT_TAIL_MAX_CHARS,
    onOverflow: 'keep_tail',
    onOutput,
    env: { ...aptEnvironment(paths), ...QUIET_ENVIRONMENT },
  });
  const output = run.stdout;
  const after = await readInstalled(places);
  const installed = completeOf(repair, after);
  const exitCode = run.ok ? 0 : run.exitCode;
  if (!run.ok && LOCKED.test(run.stderr)) {
    return { ok: false, reason: 'packages_locked', detail: run.detail, installed, exitCode, output };
  }
  const unfinished = describeUnfinished(repair, after, await isInterrupted(places));
  if (unfinished !== null) {
    const detail = run.ok ? unfinished : `${unfinished}; ${run.detail}`;
    return { ok: false, reason: 'repair_failed', detail, installed, exitCode, output };
  }
  const note = run.ok ? '' : `\nAll of it is finished, although ${run.detail}\n`;
  return { ok: true, installed, output: note === '' ? output : addNote(onOutput, output, note) };
}

/** The signed packages that dpkg's database shows as complete, in the signed version. */
function completeOf({ packages }: Repair, after: Parsed<InstalledState>): InstalledVersion[] {
  const present = new Set(
    after.ok ? after.value.packages.map((each) => `${keyOf(each)}=${each.version}`) : [],
  );
  return packages
    .filter((each) => present.has(`${keyOf(each)}=${each.version}`))
    .map(({ name, arch, version }) => ({ name, arch, version }));
}

/** What dpkg has left unfinished, as a sentence; null when nothing of the repair is. */
function describeUnfinished(
  { packages }: Repair,
  after: Parsed<InstalledState>,
  interrupted: boolean,
): string | null {
  if (!after.ok) return after.reason;
  const signed = new Set(packages.map(keyOf));
  const left = after.value.broken.filter((each) => signed.has(keyOf(each)));
  const named = left.slice(0, NAMED_MAX).map(({ name, version, state }) => `${name} ${version} is ${state}`);
  const more = left.length > NAMED_MAX ? [`${left.length - NAMED_MAX} more`] : [];
  const database = interrupted ? ['the database of dpkg is unfinished'] : [];
  return [...named, ...more, ...database].join(', ') || null;
}

/** What the host's configuration gives to every run of dpkg by apt. */
async function readOptions(paths: HostPaths): Promise<Parsed<string[]>> {
  const answer = await runProgram({
    ...{ program: 'apt-config', args: ['dump', '--format', '%v%n', 'DPkg::Options'] },
    ...{ env: aptEnvironment(paths), timeoutMs: OPTIONS_TIMEOUT_MS, maxOutputBytes: OPTIONS_MAX_BYTES },
  });
  if (!answer.ok) return { ok: false, reason: answer.detail };
  return { ok: true, value: answer.stdout.split('\n').filter((line) => line !== '') };
}
