import type { Runtime } from '../commands/runtime.ts';
import { createCommandTaker } from '../commands/take-command.ts';
import { scanHost } from '../inventory/scan-host.ts';
import { sendPlans } from '../inventory/send-plans.ts';
import { sendProbes } from '../inventory/send-probes.ts';
import { type Pause, pollMs, type Sleep } from '../platform/back-off.ts';
import type { Failure } from '../platform/failures.ts';

/** Between two plans, for commands and scans that have come meanwhile. */
const PLAN_REST_MS = 10;
/**
 * Least time from one report of a plan to the next: with it plans leave a twelfth of the budget of `agent_reports`
 * (docs/protocol/limits.md) to reports.
 */
const PLAN_PAUSE_MS = 550;

/**
 * Runs commands, scans and plans one by one, concurrently with polling, so that a long installation does not stop
 * check-ins.
 */
export interface Worker {
  /** Replaces the waiting commands: missing ones were cancelled. */
  offer(commands: unknown[]): void;
  /** Starts a scan that is due. */
  scanIfDue(): void;
  /** The server has answered: resumes the report of the probes, and planning if updates are left. */
  reportIfOpen(): void;
  isBusy(): boolean;
  failure(): Failure | null;
  /** Fires when there is something to report from now on. */
  listen(): AbortSignal;
  /** Resolves when the current work is done; nothing new is started. */
  stop(): Promise<void>;
}

/** Makes the worker of a polling loop. `sleep` waits between plans. */
export function createWorker(runtime: Runtime, options: { sleep: Sleep }): Worker {
  let waiting: unknown[] = [];
  let working: Promise<void> | null = null;
  let failed: Failure | null = null;
  const stopping = new AbortController();
  let scanDueMs = runtime.elapsedMs();
  let mayReport = false;
  let waker = new AbortController();
  let pausing = new AbortController();

  const pause: Pause = async (ms, isOver) => {
    const ends = isOver ? AbortSignal.any([stopping.signal, isOver]) : stopping.signal;
    await options.sleep(ms, ends);
    return !ends.aborted;
  };
  const taker = createCommandTaker(runtime, pause, stopping.signal);
  const isScanDue = () => runtime.elapsedMs() >= scanDueMs;

  async function work(): Promise<void> {
    if (runtime.journal.unfinished().length > 0) {
      failed = await taker.resume();
      waker.abort();
      lookAgainLater();
    }
    while (failed === null && !stopping.signal.aborted) {
      const next = waiting.shift();
      if (next !== undefined) {
        const taken = await taker.take(next);
        failed = taken.failure;
        if (taken.outcome === 'done') waker.abort();
        lookAgainLater();
      } else if (isScanDue()) {
        await scan();
      } else if (runtime.probes.isDue()) {
        await runtime.probes.look(pause);
      } else if (mayReport && runtime.probes.unsent() !== null) {
        // Sent from here: a host must not check in once more after each start because its probes have run.
        note(await sendProbes(runtime));
      } else if (mayReport && runtime.plans.hasOpen()) {
        await plan();
      } else {
        break;
      }
    }
    working = null;
    if (failed !== null) waker.abort();
  }

  async function scan(): Promise<void> {
    const scanMs = runtime.config.current().polling.scan_seconds * 1_000;
    scanDueMs = runtime.elapsedMs() + pollMs(scanMs, runtime.random());
    const before = JSON.stringify(runtime.inventory.digests());
    await scanHost(runtime);
    if (JSON.stringify(runtime.inventory.digests()) !== before) waker.abort();
  }

  /** Commands and scans come first: an approval never waits for more than one plan. */
  async function plan(): Promise<void> {
    pausing = new AbortController();
    const { signal } = pausing;
    let startedMs = runtime.elapsedMs();
    const failure = await sendPlans(runtime, {
      isWanted: () =>
        !stopping.signal.aborted && waiting.length === 0 && !isScanDue() && !runtime.probes.isDue(),
      rest: async () => {
        runtime.spareMemory.collectGarbage();
        runtime.spareMemory.releaseCode();
        await options.sleep(PLAN_REST_MS, signal);
      },
      pause: async () => {
        const leftMs = startedMs + PLAN_PAUSE_MS - runtime.elapsedMs();
        await options.sleep(Math.max(0, leftMs), signal);
        startedMs = runtime.elapsedMs();
      },
    });
    note(failure);
  }

  function note(failure: Failure | null): void {
    if (failure === null) return;
    if (failure.kind === 'terminal' || failure.kind === 'storage') failed = failure;
    mayReport = false; // until the server has been reached again
  }

  /** Starts the work when the probes are due after an installation, however seldom this host checks in. */
  function lookAgainLater(): void {
    for (const dueMs of runtime.probes.newlyDue()) {
      void options.sleep(dueMs, stopping.signal).then(start);
    }
  }

  function start(): void {
    if (!stopping.signal.aborted) working ??= work();
  }

  return {
    offer: (commands) => {
      waiting = [...commands];
      if (waiting.length === 0) return;
      pausing.abort();
      start();
    },
    scanIfDue: () => {
      if (isScanDue()) start();
    },
    reportIfOpen: () => {
      mayReport = true;
      if (runtime.probes.unsent() !== null || runtime.plans.hasOpen()) start();
    },
    isBusy: () => working !== null,
    failure: () => failed,
    listen: () => {
      waker = new AbortController();
      return waker.signal;
    },
    stop: async () => {
      stopping.abort();
      waiting = [];
      pausing.abort();
      await working;
    },
  };
}
