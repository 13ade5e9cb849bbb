import { type CommandResult, OUTPUT_TAIL_MAX_CHARS } from '@tidegate/protocol/agent-api';
import type { HookStage, ProbeReport } from '@tidegate/protocol/probes';
import type { HookFacts, HooksEnd, RunHooks } from '../hooks/run-hooks.ts';
import { plainEnd } from '../platform/plain-text.ts';
import type { OutputListener } from '../platform/run-program.ts';
import { type JobEnd, refused } from './job-result.ts';

export interface HookedWork {
  runHooks: RunHooks;
  facts: Pick<HookFacts, 'commandId' | 'ecosystem' | 'change' | 'packages'>;
  onOutput: OutputListener;
  /** Whether root has named hooks before an installation, or its folder cannot be read. */
  hasBefore: boolean;
  /** Verifies all that an installation does, and changes nothing. Null: it would be carried out. */
  rehearse: () => Promise<JobEnd | null>;
  install: () => Promise<JobEnd>;
}

/**
 * Runs root's hooks around an installation. They begin only once nothing but they could refuse it, so that a refused job
 * drains no host; as they may take long, `install` verifies it all again. Where hooks before it have run, or may have, those
 * after it run as well, whatever came of it: they undo what the first did.
 */
export async function withHooks(work: HookedWork): Promise<JobEnd> {
  if (!work.hasBefore) return withAfter(work, await work.install(), null);
  const refusal = await work.rehearse();
  if (refusal !== null) return refusal;
  const before = await work.runHooks('before', work.facts, work.onOutput);
  const { failed } = before;
  const end = failed?.stops
    ? refused('hook_failed', `${failed.name}: ${failed.detail}`)
    : await work.install();
  return withAfter(work, end, before);
}

async function withAfter(
  { runHooks, facts, onOutput }: HookedWork,
  end: JobEnd,
  before: HooksEnd | null,
): Promise<JobEnd> {
  const hasBegun = end.result.started_at !== undefined;
  const hasRun = before !== null && (before.runs.length > 0 || before.mayHaveRun === true);
  if (!hasBegun && !hasRun) return end;
  const outcome = hasBegun ? (end.result.status === 'success' ? 'success' : 'failed') : 'not_started';
  const after = await runHooks('after', { ...facts, outcome }, onOutput);
  if (before === null && after.runs.length === 0 && after.failed === null) return end; // there are none
  return { ...end, result: withRuns(end.result, before, after) };
}

/** The installation stands, whatever a hook after it says; the reason tells of it. */
function withRuns(result: CommandResult, before: HooksEnd | null, after: HooksEnd): CommandResult {
  const output = [before?.output, result.output_tail, after.output].reduce<string>(onNewLine, '');
  const told = [
    ...(before?.failed && !before.failed.stops ? [tell('before', before.failed)] : []),
    ...(after.failed === null ? [] : [tell('after', after.failed)]),
  ];
  const reason = [...(result.reason === undefined ? [] : [result.reason]), ...told].join('; ');
  return {
    ...result,
    ...(reason !== '' && { reason: reason.slice(0, 4_096).toWellFormed() }),
    ...(output !== '' && { output_tail: plainEnd(output, OUTPUT_TAIL_MAX_CHARS) }),
    hooks: [...(before?.runs ?? []), ...after.runs],
  };
}

/** As it was followed: a text that ends its line is not given another end. */
function onNewLine(before: string, text = ''): string {
  return before === '' || text === '' || before.endsWith('\n') ? before + text : `${before}\n${text}`;
}

function tell(stage: HookStage, { name, detail }: NonNullable<HooksEnd['failed']>): string {
  return `hook_failed (${stage}/${name}): ${detail}`;
}

/** Adds what the probes had seen before. */
export function withProbes(end: JobEnd, before: ProbeReport | null): JobEnd {
  return before === null ? end : { ...end, result: { ...end.result, probes: { before } } };
}
