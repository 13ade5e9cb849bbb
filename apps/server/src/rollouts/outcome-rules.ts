import type { ProbesState } from '@tidegate/protocol/probes';
import type { HostOutcome } from '@tidegate/protocol/rollouts-api';

/** The command of one approval of a rollout for a host. */
export interface HostRun {
  /** Of the command. */
  readonly status: string;
  readonly reason: string | null;
  readonly sentAtMs: number | null;
  /** When the server heard of its end; null: it has not. */
  readonly finishedAtMs: number | null;
  /** When it ended by the host's own clock, and never later than that: what the host looked at since speaks of the run. */
  readonly endedThereMs: number | null;
  /** All probes of the host before it began; null: not reported. */
  readonly before: ProbesState | null;
}

export interface HostFacts {
  /** In the order of their approvals. */
  readonly runs: readonly HostRun[];
  /** As the host reported them last; `atMs` null: it has not. */
  readonly probes: { readonly state: ProbesState; readonly atMs: number | null };
  /** Updates of the rollout that the host offers and nobody has approved. */
  readonly pending: number;
  /** Those that are on their way to an approval: the host plans them. */
  readonly awaited: number;
  readonly isOnline: boolean;
  readonly deadlineMs: number;
  readonly nowMs: number;
  /** Whether the server has listened for so long that the host could report, or has already called it silent. */
  readonly couldReport: boolean;
}

export interface Outcome {
  readonly outcome: HostOutcome;
  readonly reason: string | null;
  readonly deliveredAtMs: number | null;
  /** Null: it may still change. */
  readonly settledAtMs: number | null;
  /** Of the run that it comes from. */
  readonly endedThereMs: number | null;
}

/** Outcomes that stay; every other host is looked at again: one that was silent may report, probes may turn red. */
export const LASTING_OUTCOMES = ['failed', 'probe_failed', 'unfit'] as const satisfies readonly HostOutcome[];

/** Outcomes that count against a rollout. */
export const FAILURES = ['failed', 'probe_failed', 'silent'] as const satisfies readonly HostOutcome[];

export function isFailure(outcome: string): boolean {
  return FAILURES.some((one) => one === outcome);
}

/**
 * What became of a host, from its commands of this rollout. The worst counts; what it has not received yet waits until it
 * has, or is not offered any more.
 */
export function outcomeOf(facts: HostFacts): Outcome {
  const { runs, nowMs } = facts;
  const delivered = runs.filter(({ status, sentAtMs }) => sentAtMs !== null && status !== 'cancelled');
  const times = delivered.flatMap(({ sentAtMs }) => sentAtMs ?? []);
  const deliveredAtMs = times.length === 0 ? null : Math.min(...times);
  const settled = (outcome: HostOutcome, run?: HostRun): Outcome => ({
    ...{ outcome, reason: run?.reason ?? null, deliveredAtMs },
    settledAtMs: run?.finishedAtMs ?? nowMs,
    endedThereMs: run?.endedThereMs ?? null,
  });
  const open = (outcome: HostOutcome, reason: string | null = null): Outcome => ({
    ...{ outcome, reason, deliveredAtMs, settledAtMs: null, endedThereMs: null },
  });

  const failed = delivered.find(({ status }) => status === 'failed' || status === 'interrupted');
  if (failed) return settled('failed', failed);
  const successes = delivered.filter(({ status }) => status === 'success');
  const unfit = successes.find(({ before }) => before === 'red');
  const broken = unfit ? undefined : successes.find((run) => isRedSince(run, facts));
  if (broken) return { ...settled('probe_failed', broken), reason: 'probes_red' };
  const silent = delivered.find((run) => isSilent(run, facts));
  if (silent) return { ...settled('silent', silent), reason: 'no_report', settledAtMs: nowMs };
  if (delivered.some(isRunning)) return open('running');
  // Approved and not delivered, or on its way to an approval.
  const isApproved = runs.some(({ status, sentAtMs }) => status === 'pending' && sentAtMs === null);
  if (isApproved || facts.awaited > 0) return open(facts.isOnline ? 'waiting' : 'offline');
  if (unfit) return settled('unfit', unfit);
  const installed = successes.at(-1);
  if (installed) return settled('installed', installed);
  const refused = delivered.findLast(({ status }) => status === 'refused');
  if (refused) return settled('refused', refused);
  if (facts.pending === 0) return settled('not_offered');
  return open(facts.isOnline ? 'waiting' : 'offline', 'not_approved');
}

function isRunning({ status }: HostRun): boolean {
  return status === 'sent' || status === 'received' || status === 'running';
}

/** Delivered and past its deadline, or its last command expired without a report. */
function isSilent(run: HostRun, { deadlineMs, nowMs, runs, couldReport }: HostFacts): boolean {
  if (run.sentAtMs === null) return false;
  if (run.status === 'expired') return runs.at(-1) === run;
  return isRunning(run) && couldReport && nowMs - run.sentAtMs >= deadlineMs;
}

/** Whether the host has found its probes red since this installation. */
function isRedSince({ endedThereMs }: HostRun, { probes }: HostFacts): boolean {
  return (
    probes.state === 'red' && probes.atMs !== null && endedThereMs !== null && probes.atMs >= endedThereMs
  );
}
