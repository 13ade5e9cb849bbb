import type { Runtime } from '../commands/runtime.ts';
import { createCommandTaker } from '../commands/take-command.ts';
import { scanHost } from '../inventory/scan-host.ts';
import { sendInventory } from '../inventory/send-inventory.ts';
import { sendPlans } from '../inventory/send-plans.ts';
import { sendProbes } from '../inventory/send-probes.ts';
import { sendRestarts } from '../inventory/send-restarts.ts';
import { sendTags } from '../inventory/send-tags.ts';
import { sendTimeliness } from '../inventory/send-timeliness.ts';
import { type Pause, pollMs, reconnectMs, type Sleep, spreadMs } from '../platform/back-off.ts';
import { describeFailure, type Failure } from '../platform/failures.ts';
import { sendJournal } from '../session/send-journal.ts';
import { checkIn } from './check-in.ts';
import { createWorker, type Worker } from './worker.ts';

/** Most check-ins of one `run --once`: a server that never runs out of commands must not hold it for ever. */
export const ROUNDS_MAX = 50;

/** Time for a check-in's connections to close and its garbage to settle; afterwards the agent only waits. */
const SETTLE_MS = 2_000;

/** Most plans of one `run --once`: what is left is planned when it is asked for. */
export const ONCE_PLANS_MAX = 60;
/** How long `run --once` waits to send the rest of an output. */
const ONCE_SETTLE_MS = 5_000;
/** How long `run --once` waits for an approval. */
const ONCE_WAITS_MS = 60_000;

/** One full round: scan, check in, report, carry out every command, plan, until nothing is left. Null when all went well. */
export async function runOnce(runtime: Runtime, options: { sleep?: Sleep } = {}): Promise<Failure | null> {
  runtime.outputs.resume();
  try {
    return await fullRound(runtime, options);
  } finally {
    await runtime.outputs.settle(ONCE_SETTLE_MS);
  }
}

async function fullRound(runtime: Runtime, { sleep }: { sleep?: Sleep }): Promise<Failure | null> {
  const { signal } = new AbortController();
  const pause = createPatience(ONCE_WAITS_MS, sleep);
  const taker = createCommandTaker(runtime, pause, signal);
  const unresumed = await taker.resume();
  if (unresumed !== null) return unresumed;
  await scanHost(runtime);
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const checked = await checkIn(runtime);
    if (!checked.ok) return checked.failure;
    const reported = await sendInventory(runtime, { askedFor: checked.value.report });
    if (reported.failure !== null) return reported.failure;
    if (runtime.probes.isDue()) await runtime.probes.look(pause);
    const unsent =
      (await sendRestarts(runtime)) ??
      (await sendTags(runtime)) ??
      (await sendTimeliness(runtime)) ??
      (await sendProbes(runtime));
    if (unsent !== null) return unsent;
    let done = 0;
    for (const delivered of checked.value.commands) {
      const taken = await taker.take(delivered);
      if (taken.failure !== null) return taken.failure;
      if (taken.outcome === 'done') done += 1;
    }
    const owed = owedBy(runtime);
    const failure = await sendJournal(runtime);
    if (failure !== null) return failure;
    const settled = owed - owedBy(runtime); // reports refused now wait for another round
    const hasNews = done + reported.sent + settled + runtime.journal.unacknowledged().length > 0;
    if (!hasNews) return planSome(runtime);
  }
  runtime.log.warn('the round ended with commands pending', { check_ins: ROUNDS_MAX });
  return null;
}

function owedBy({ journal }: Runtime): number {
  return journal.unreported().length + journal.events().length;
}

/** Runs last so that commands are never delayed, and without pauses, as the caller is waiting. */
function planSome(runtime: Runtime): Promise<Failure | null> {
  const pause = async () => {};
  return sendPlans(runtime, { isWanted: (made) => made < ONCE_PLANS_MAX, rest: pause, pause });
}

/** Waits for so long in all; without a `sleep` not at all. */
function createPatience(leftMs: number, sleep: Sleep | undefined): Pause {
  let left = leftMs;
  return async (ms, isOver = new AbortController().signal) => {
    if (sleep === undefined || ms > left) return false;
    left -= ms;
    await sleep(ms, isOver);
    return !isOver.aborted;
  };
}

/** Polls until the signal, a terminal error (section 7) or a failing disk. Null when it was told to stop. */
export async function runLoop(
  runtime: Runtime,
  options: { signal: AbortSignal; sleep: Sleep },
): Promise<Failure | null> {
  const { signal } = options;
  const { spareMemory, outputs } = runtime;
  outputs.resume();
  const worker = createWorker(runtime, options);
  const intervalMs = () => runtime.config.current().polling.check_in_seconds * 1_000;
  const spread = () => options.sleep(spreadMs(intervalMs(), runtime.random()), signal);
  let failures = 0;
  let hasWorked = true;
  worker.scanIfDue();
  // A new host is seen at once. Others may start together: after a power cut, or with a release of the agent.
  if (runtime.journal.serverTime() !== null) await spread();
  while (!signal.aborted) {
    const news = worker.listen();
    worker.scanIfDue();
    hasWorked ||= worker.isBusy();
    const outcome = await pollOnce(runtime, worker);
    const { failure } = outcome;
    const stopped = worker.failure() ?? (isFinal(failure) ? failure : null);
    if (stopped !== null) {
      await worker.stop();
      await outputs.stop();
      return stopped;
    }
    failures = failure === null ? 0 : failures + 1;
    if (failure !== null) runtime.log.warn('check-in failed', { reason: describeFailure(failure) });
    const retryAfterMs = failure?.kind === 'retryable' ? failure.retryAfterMs : null;
    const random = runtime.random();
    const waitMs =
      failure === null
        ? pollMs(outcome.nextMs, random)
        : reconnectMs({ failures, intervalMs: outcome.nextMs, random, retryAfterMs });
    const fromMs = runtime.elapsedMs();
    hasWorked ||= worker.isBusy();
    // News may shorten a wait, but not that of a server that fails.
    const wakes = failure === null ? AbortSignal.any([signal, news]) : signal;
    const settleMs = Math.min(waitMs, SETTLE_MS);
    await options.sleep(settleMs, wakes);
    if (!worker.isBusy()) {
      if (hasWorked) spareMemory.collectGarbage();
      spareMemory.releaseCode();
      hasWorked = false;
    }
    await options.sleep(waitMs - settleMs, wakes);
    // The machine slept, and maybe others with it.
    if (runtime.elapsedMs() - fromMs > waitMs + intervalMs()) await spread();
  }
  await worker.stop();
  await outputs.stop();
  return null;
}

async function pollOnce(
  runtime: Runtime,
  worker: Worker,
): Promise<{ failure: Failure | null; nextMs: number }> {
  const nextMs = runtime.config.current().polling.check_in_seconds * 1_000;
  const checked = await checkIn(runtime);
  warnOfSilence(runtime, nextMs);
  if (!checked.ok) return { failure: checked.failure, nextMs };
  worker.offer(checked.value.commands);
  const reported = await sendInventory(runtime, { askedFor: checked.value.report });
  // Results and events go out all the same where the server takes no inventory now: past its budget that is for a day.
  const failure = isFinal(reported.failure)
    ? reported.failure
    : ((await sendJournal(runtime)) ??
      reported.failure ??
      (await sendRestarts(runtime)) ??
      (await sendTags(runtime)) ??
      (await sendTimeliness(runtime)));
  if (failure === null) worker.reportIfOpen();
  return { failure, nextMs: checked.value.nextMs };
}

/** T12: logs a gap without newer state at once; the server gets an event when it ends. */
function warnOfSilence({ freshness, log }: Runtime, intervalMs: number): void {
  const silentMs = freshness.noticeSilence(intervalMs);
  if (silentMs === null) return;
  log.warn('no newer signed state of the fleet was received: later revocations are unknown', {
    silent_seconds: Math.round(silentMs / 1_000),
  });
}

function isFinal(failure: Failure | null): boolean {
  return failure?.kind === 'terminal' || failure?.kind === 'storage';
}
