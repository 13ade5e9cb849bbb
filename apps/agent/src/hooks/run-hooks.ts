import type { HookRun, HookStage } from '@tidegate/protocol/probes';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { type OutputListener, type ProgramResult, runProgram } from '../platform/run-program.ts';
import { shownText } from '../platform/shown-text.ts';
import { findProgramFault } from '../probes/root-program.ts';
import {
  HOOK_SECONDS,
  type HookedChange,
  type HookFile,
  readHooks,
  STAGE_MAX_SECONDS,
  stopsAt,
} from './hook-file.ts';

/** Of what one hook says, in bytes. */
const OUTPUT_MAX_BYTES = 8 * 1024;
/** The name under which a folder that cannot be used is reported. */
export const FOLDER_HOOK = 'hooks.d';

/** What hooks are told: no text that a server or a package could choose. */
export interface HookFacts {
  commandId: string;
  ecosystem: Ecosystem;
  change: HookedChange;
  /** How many packages the transaction changes. */
  packages: number;
  /** Only after it; `not_started`: a hook before it failed, or it was refused. */
  outcome?: 'success' | 'failed' | 'not_started';
}

/** What became of the hooks of a stage. */
export interface HooksEnd {
  runs: HookRun[];
  /** The first that failed, or the one that stops the installation; also a file of root's that cannot be used. */
  failed: { name: string; detail: string; stops: boolean } | null;
  /** The end of what each said. */
  output: string;
  /** Their unit ended without a result: any of them may have run, although `runs` names none. */
  mayHaveRun?: boolean;
}

export type RunHooks = (stage: HookStage, facts: HookFacts, onOutput: OutputListener) => Promise<HooksEnd>;

/**
 * Runs root's hooks of a stage in the order of their names. None runs if one that has to succeed cannot be used. Before an
 * installation the first that stops it is the last; after it all run, as one may undo what another did before.
 */
export async function runHooks(
  means: { policy: PolicyPlace; elapsedMs: () => number },
  stage: HookStage,
  facts: HookFacts,
  onOutput: OutputListener,
): Promise<HooksEnd> {
  const usable = findUsable(means.policy, stage, facts.change);
  if (!usable.ok) return { runs: [], failed: usable.failed, output: '' };
  const beganMs = means.elapsedMs();
  const end: HooksEnd = { runs: [], failed: null, output: '' };
  const say = (text: string) => {
    onOutput(Buffer.from(text));
    end.output += text;
  };
  for (const { name, value, fault } of usable.hooks) {
    const stops = stage === 'before' && stopsAt(facts.change, value);
    const startedMs = means.elapsedMs();
    const leftMs = STAGE_MAX_SECONDS * 1_000 - (startedMs - beganMs);
    const timeoutMs = Math.min((value.timeout_seconds ?? HOOK_SECONDS) * 1_000, leftMs);
    say(`[hook ${stage}/${name}]\n`);
    const ran =
      fault === null
        ? await run(value, { timeoutMs, env: environmentOf(stage, facts), onOutput })
        : notRun('not_started', fault);
    end.output += ran.stdout;
    const outcome = outcomeOf(ran);
    const seconds = Math.max(0, Math.round((means.elapsedMs() - startedMs) / 1_000));
    end.runs.push({ name, stage, outcome, seconds });
    say(
      `${ran.stdout === '' || ran.stdout.endsWith('\n') ? '' : '\n'}[hook ${stage}/${name}: ${outcome}, ${seconds} s]\n`,
    );
    if (ran.ok) continue;
    if (stops || end.failed === null) end.failed = { name, detail: shownText(ran.detail, 200), stops };
    if (stops) break;
  }
  return end;
}

type Usable =
  | { ok: true; hooks: { name: string; value: HookFile; fault: string | null }[] }
  | { ok: false; failed: NonNullable<HooksEnd['failed']> };

/** Looked at together and first: a host must not be drained for a backup that cannot run. */
function findUsable(policy: PolicyPlace, stage: HookStage, change: HookedChange): Usable {
  const unusable = (name: string, detail: string): Usable => ({
    ok: false,
    failed: { name, detail, stops: stage === 'before' },
  });
  const folder = readHooks(policy, stage);
  if (!folder.ok) return unusable(FOLDER_HOOK, folder.fault);
  const hooks: { name: string; value: HookFile; fault: string | null }[] = [];
  for (const file of folder.files) {
    if (!file.ok) return unusable(file.name, file.fault);
    const { name, value } = file;
    const fault = findProgramFault(value.program, policy);
    if (fault !== null && (stage === 'after' || stopsAt(change, value))) return unusable(name, fault);
    hooks.push({ name, value, fault });
  }
  return { ok: true, hooks };
}

/** Why the hooks of a stage could not run; null if they could, or there are none. */
export function findHookFault(policy: PolicyPlace, stage: HookStage): string | null {
  const usable = findUsable(policy, stage, 'update');
  return usable.ok ? null : `${usable.failed.name}: ${usable.failed.detail}`;
}

async function run(
  { program, args = [] }: HookFile,
  means: { timeoutMs: number; env: Record<string, string>; onOutput: OutputListener },
): Promise<ProgramResult> {
  if (means.timeoutMs <= 0) {
    return notRun('timed_out', `the hooks before it took ${STAGE_MAX_SECONDS} s`);
  }
  return runProgram({
    ...{ program, args, maxOutputBytes: OUTPUT_MAX_BYTES, onOverflow: 'keep_tail', endsGroup: true },
    ...means,
  });
}

function notRun(reason: Extract<ProgramResult, { ok: false }>['reason'], detail: string) {
  return { ok: false, reason, detail, exitCode: null, stdout: '', stderr: '' } satisfies ProgramResult;
}

function outcomeOf(ran: ProgramResult): HookRun['outcome'] {
  if (ran.ok) return 'ok';
  return ran.reason === 'timed_out' ? 'timed_out' : 'failed';
}

/** Each of these is a number, an id or a word of ours. */
function environmentOf(
  stage: HookStage,
  { commandId, ecosystem, change, packages, outcome }: HookFacts,
): Record<string, string> {
  return {
    TIDEGATE_STAGE: stage,
    TIDEGATE_COMMAND_ID: commandId,
    TIDEGATE_ECOSYSTEM: ecosystem,
    TIDEGATE_CHANGE: change,
    TIDEGATE_PACKAGES: String(packages),
    ...(outcome !== undefined && { TIDEGATE_OUTCOME: outcome }),
  };
}
