import type { Envelope } from '@tidegate/protocol/documents';
import { backOffMs, pollMs } from './back-off.ts';
import { checkIn } from './check-in.ts';
import { describeFailure, type Failure } from './failures.ts';
import type { Runtime } from './runtime.ts';
import { sendInventory, sendJournal } from './send-reports.ts';
import { type CommandTaker, createCommandTaker } from './take-command.ts';

/** Most check-ins of one `run --once`: a server that never runs out of commands must not hold it for ever. */
export const ROUNDS_MAX = 50;

/** Waits, or ends early when the signal is given. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** One full round: scan, plan, check in, report, carry out every command, until nothing is left. Null when all went well. */
export async function runOnce(runtime: Runtime): Promise<Failure | null> {
  const taker = createCommandTaker(runtime);
  await scan(runtime);
  await runtime.inventory.planMore();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const checked = await checkIn(runtime);
    if (!checked.ok) return checked.failure;
    const reported = await sendInventory(runtime, checked.value.report);
    if (reported.failure !== null) return reported.failure;
    let done = 0;
    for (const delivered of checked.value.commands) {
      const taken = await taker.take(delivered, checked.value.state);
      if (taken.failure !== null) return taken.failure;
      if (taken.outcome === 'done') done += 1;
    }
    const owed = runtime.journal.unreported().length + runtime.journal.events().length;
    const failure = await sendJournal(runtime);
    if (failure !== null) return failure;
    const hasNews = done + reported.sent + owed + runtime.journal.unacknowledged().length > 0;
    if (!hasNews) return null;
  }
  runtime.log.warn('the round ended with commands left', { check_ins: ROUNDS_MAX });
  return null;
}

/** Polls until the signal, a terminal error (section 7) or a failing disk. Null when it was told to stop. */
export async function runLoop(
  runtime: Runtime,
  options: { signal: AbortSignal; sleep: Sleep },
): Promise<Failure | null> {
  const { signal } = options;
  const { spareMemory } = runtime;
  const worker = createWorker(runtime);
  let failures = 0;
  let isStirred = true;
  while (!signal.aborted) {
    worker.startIfDue();
    isStirred ||= worker.isBusy();
    const outcome = await pollOnce(runtime, worker);
    const stopped = worker.failure() ?? (isFinal(outcome.failure) ? outcome.failure : null);
    if (stopped !== null) {
      await worker.idle();
      return stopped;
    }
    failures = outcome.failure === null ? 0 : failures + 1;
    if (outcome.failure !== null)
      runtime.log.warn('check-in failed', { reason: describeFailure(outcome.failure) });
    const retryAfterMs = outcome.failure?.kind === 'retryable' ? outcome.failure.retryAfterMs : null;
    const waitMs =
      outcome.failure === null
        ? pollMs(outcome.nextMs, runtime.random())
        : backOffMs(failures, runtime.random(), retryAfterMs);
    isStirred ||= worker.isBusy();
    if (!worker.isBusy()) {
      if (isStirred) spareMemory.collectGarbage();
      spareMemory.releaseCode();
      isStirred = false;
    }
    await options.sleep(waitMs, AbortSignal.any([signal, worker.wake()]));
  }
  await worker.idle();
  return null;
}

async function pollOnce(
  runtime: Runtime,
  worker: Worker,
): Promise<{ failure: Failure | null; nextMs: number }> {
  const nextMs = runtime.config.current().polling.check_in_seconds * 1_000;
  const checked = await checkIn(runtime);
  if (!checked.ok) return { failure: checked.failure, nextMs };
  worker.offer(checked.value.commands, checked.value.state);
  const reported = await sendInventory(runtime, checked.value.report);
  const failure = reported.failure ?? (await sendJournal(runtime));
  return { failure, nextMs: checked.value.nextMs };
}

function isFinal(failure: Failure | null): boolean {
  return failure?.kind === 'terminal' || failure?.kind === 'storage';
}

async function scan(runtime: Runtime): Promise<void> {
  const { problems } = await runtime.inventory.scan(null);
  for (const problem of problems) runtime.log.warn('a scan is incomplete', { reason: problem });
}

/** Carries out commands and scans one after the other beside the polling, so that a long install is no silence. */
interface Worker {
  /** Replaces what is waiting: what the server no longer delivers was cancelled. */
  offer(commands: unknown[], state: Envelope): void;
  /** Starts a scan that is due, or goes on planning. */
  startIfDue(): void;
  isBusy(): boolean;
  failure(): Failure | null;
  /** Fires when the work is done and there is something to report. */
  wake(): AbortSignal;
  idle(): Promise<void>;
}

function createWorker(runtime: Runtime): Worker {
  const taker: CommandTaker = createCommandTaker(runtime);
  let waiting: unknown[] = [];
  let state: Envelope | null = null;
  let working: Promise<void> | null = null;
  let failed: Failure | null = null;
  let scanDueMs = runtime.elapsedMs();
  let waker = new AbortController();

  async function work(): Promise<void> {
    let hasNews = false;
    while (failed === null) {
      if (runtime.elapsedMs() >= scanDueMs) {
        scanDueMs = runtime.elapsedMs() + pollMs(scanIntervalMs(runtime), runtime.random());
        const before = digestsOf(runtime);
        await scan(runtime);
        hasNews ||= digestsOf(runtime) !== before;
      }
      const next = waiting.shift();
      if (next === undefined || state === null) {
        if (!hasNews) hasNews = await planMore(); // what there is to report goes first
        break;
      }
      const taken = await taker.take(next, state);
      failed = taken.failure;
      hasNews ||= taken.outcome === 'done';
    }
    working = null;
    if (hasNews || failed !== null) waker.abort();
  }

  /** One batch at a time: between two of them the loop reports, and commands come first. */
  async function planMore(): Promise<boolean> {
    const before = digestsOf(runtime);
    await runtime.inventory.planMore();
    return digestsOf(runtime) !== before;
  }

  function start(): void {
    working ??= work();
  }

  return {
    offer: (commands, newState) => {
      waiting = [...commands];
      state = newState;
      if (waiting.length > 0) start();
    },
    startIfDue: () => {
      if (runtime.elapsedMs() >= scanDueMs || runtime.inventory.hasUnplanned()) start();
    },
    isBusy: () => working !== null,
    failure: () => failed,
    wake: () => {
      const { signal } = waker;
      // News that came before anybody waited is told once, and the next wait begins anew.
      if (signal.aborted) waker = new AbortController();
      return signal;
    },
    idle: async () => {
      waiting = [];
      await working;
    },
  };
}

function digestsOf({ inventory }: Runtime): string {
  return JSON.stringify(inventory.digests());
}

function scanIntervalMs({ config }: Runtime): number {
  return config.current().polling.scan_seconds * 1_000;
}
