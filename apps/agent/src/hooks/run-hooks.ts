import type { HookRun, HookStage } from '@tidegate/protocol/probes';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { type OutputListener, type ProgramResult, runProgram } from '../platform/run-program.ts';
import { shownText } from '../platform/shown-text.ts';
import { findProgramFault } from '../probes/root-program.ts';
import { HOOK_SECONDS, type HookFile, readHooks, STAGE_MAX_SECONDS } from './hook-file.ts';

/** Of what one hook says, in bytes. */
const OUTPUT_MAX_BYTES = 8 * 1024;
/** The name under which a folder that cannot be used is reported. */
export const FOLDER_HOOK = 'hooks.d';

/** What hooks are told: no text that a server or a package could choose. */
export interface HookFacts {
  commandId: string;
  ecosystem: Ecosystem;
  /** How many packages the transaction changes. */
  packages: number;
  /** Only after it; `not_started`: a hook before it failed, or it was refused. */
  outcome?: 'success' | 'failed' | 'not_started';
}

/** What became of the hooks of a stage. */
export interface HooksEnd {
  runs: HookRun[];
  /** The first that failed; also a file of root's that cannot be used. */
  failed: { name: string; detail: string } | null;
  /** The end of what each said. */
  output: string;
}

export type RunHooks = (stage: HookStage, facts: HookFacts, onOutput: OutputListener) => Promise<HooksEnd>;

/**
 * Runs root's hooks of a stage in the order of their names. None runs if one of them cannot be used. Before an
 * installation the first that fails is the last; after it all run, as one may undo what another did before.
 */
export async function runHooks(
  means: { policy: PolicyPlace; elapsedMs: () => number },
  stage: HookStage,
  facts: HookFacts,
  onOutput: OutputListener,
): Promise<HooksEnd> {
  const usable = findUsable(means.policy, stage);
  if (!usable.ok) return { runs: [], failed: usable.failed, output: '' };
  const beganMs = means.elapsedMs();
  const end: HooksEnd = { runs: [], failed: null, output: '' };
  const say = (text: string) => {
    onOutput(Buffer.from(text));
    end.output += text;
  };
  for (const { name, value } of usable.hooks) {
    const startedMs = means.elapsedMs();
    const leftMs = STAGE_MAX_SECONDS * 1_000 - (startedMs - beganMs);
    const timeoutMs = Math.min((value.timeout_seconds ?? HOOK_SECONDS) * 1_000, leftMs);
    say(`[hook ${stage}/${name}]\n`);
    const ran = await run(value, { timeoutMs, env: environmentOf(stage, facts), onOutput });
    end.output += ran.stdout;
    const outcome = outcomeOf(ran);
    const seconds = Math.max(0, Math.round((means.elapsedMs() - startedMs) / 1_000));
    end.runs.push({ name, stage, outcome, seconds });
    say(
      `${ran.stdout === '' || ran.stdout.endsWith('\n') ? '' : '\n'}[hook ${stage}/${name}: ${outcome}, ${seconds} s]\n`,
    );
    if (ran.ok) continue;
    end.failed ??= { name, detail: shownText(ran.detail, 200) };
    if (stage === 'before') break;
  }
  return end;
}

type Usable =
  | { ok: true; hooks: { name: string; value: HookFile }[] }
  | { ok: false; failed: NonNullable<HooksEnd['failed']> };

/** Looked at together and first: a host must not be drained for a backup that cannot run. */
function findUsable(policy: PolicyPlace, stage: HookStage): Usable {
  const folder = readHooks(policy, stage);
  if (!folder.ok) return { ok: false, failed: { name: FOLDER_HOOK, detail: folder.fault } };
  const hooks: { name: string; value: HookFile }[] = [];
  for (const file of folder.files) {
    const fault = file.ok ? findProgramFault(file.value.program, policy) : file.fault;
    if (fault !== null) return { ok: false, failed: { name: file.name, detail: fault } };
    if (file.ok) hooks.push(file);
  }
  return { ok: true, hooks };
}

/** Why the hooks of a stage could not run; null if they could, or there are none. */
export function findHookFault(policy: PolicyPlace, stage: HookStage): string | null {
  const usable = findUsable(policy, stage);
  return usable.ok ? null : `${usable.failed.name}: ${usable.failed.detail}`;
}

async function run(
  { program, args = [] }: HookFile,
  means: { timeoutMs: number; env: Record<string, string>; onOutput: OutputListener },
): Promise<ProgramResult> {
  if (means.timeoutMs <= 0) {
    const detail = `the hooks before it took ${STAGE_MAX_SECONDS} s`;
    return { ok: false, reason: 'timed_out', detail, exitCode: null, stdout: '', stderr: '' };
  }
  return runProgram({
    ...{ program, args, maxOutputBytes: OUTPUT_MAX_BYTES, onOverflow: 'keep_tail', endsGroup: true },
    ...means,
  });
}

function outcomeOf(ran: ProgramResult): HookRun['outcome'] {
  if (ran.ok) return 'ok';
  return ran.reason === 'timed_out' ? 'timed_out' : 'failed';
}

/** Each of these is a number, an id or a word of ours. */
function environmentOf(
  stage: HookStage,
  { commandId, ecosystem, packages, outcome }: HookFacts,
): Record<string, string> {
  return {
    TIDEGATE_STAGE: stage,
    TIDEGATE_COMMAND_ID: commandId,
    TIDEGATE_ECOSYSTEM: ecosystem,
    TIDEGATE_PACKAGES: String(packages),
    ...(outcome !== undefined && { TIDEGATE_OUTCOME: outcome }),
  };
}
