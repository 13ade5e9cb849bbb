import { type ChildProcess, fork } from 'node:child_process';
import type { Log } from '../platform/log.ts';
import { IS_BUNDLED } from '../platform/program.ts';
import type { SharedCertificate } from '../tls/presented-certificate.ts';
import {
  type FromWorker,
  fromWorker,
  type Now,
  type Report,
  type Start,
  type WorkerFacts,
} from './messages.ts';

const PROGRAM = new URL(IS_BUNDLED ? './worker.js' : './worker.ts', import.meta.url);

/** How often workers are told what changes, in milliseconds. */
const TELL_MS = 1_000;
/** Tellings without any report after which a worker hangs and is killed; a start takes longer on a busy machine. */
const SILENT_MAX = { running: 15, starting: 60 };
/** A worker that ran for so long before it ended may start again at once, in milliseconds. */
const STEADY_MS = 60_000;
/** Ends in a row, each before STEADY_MS, after which the server gives up. */
export const ENDS_MAX = 6;
const BACK_OFF_MS = 100;
/** Longer than a worker gives the requests under way. */
const STOP_MAX_MS = 8_000;

/** Workers cannot be started; the message says why. */
export class WorkersFault extends Error {
  override name = 'WorkersFault';
}

export interface Workers {
  /** Starts them; resolves when each of them listens. Rejects with a WorkersFault if they keep ending. */
  start(port: number): Promise<void>;
  /** Whether each of them listens. */
  areReady(): boolean;
  /** Tells them at once what is otherwise told every second. */
  tell(): void;
  facts(): ReadonlyMap<number, WorkerFacts>;
  /** How often a worker was started again. */
  restarts(): number;
  /** Resolves, with a line that says why, when workers keep ending. */
  readonly lost: Promise<string>;
  /** Ends them, each after its requests under way. */
  stop(): Promise<void>;
}

export interface Supervision {
  log: Log;
  count: number;
  startOf: (worker: number, port: number) => Start;
  now: () => Promise<Now>;
  certificate: () => SharedCertificate | null;
  /** Takes what a worker has answered; returns the agents whose next check-ins the server wants to have. */
  take: (report: Report) => string[];
  program?: URL;
  tellMs?: number;
}

interface Running {
  child: ChildProcess;
  isListening: boolean;
  certificate: SharedCertificate | null;
  silentFor: number;
  facts: WorkerFacts | null;
}

/** Keeps the workers of a server running, tells them what changes, and takes their reports. */
export function superviseWorkers(options: Supervision): Workers {
  const { log, count, program = PROGRAM, tellMs = TELL_MS } = options;
  const running = new Map<number, Running>();
  const listening = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<string>();
  let endsInRow = 0;
  let restarts = 0;
  let isStopping = false;
  let telling: NodeJS.Timeout | null = null;
  let latest: Now | null = null;

  const areReady = () =>
    running.size === count && [...running.values()].every(({ isListening }) => isListening);

  function run(worker: number, port: number): void {
    const startedMs = performance.now();
    const child = fork(program, {
      ...{ stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: withoutSettings(process.env) },
      execArgv: process.execArgv.filter((option) => !option.startsWith('--env-file')),
    });
    const one: Running = { child, isListening: false, certificate: null, silentFor: 0, facts: null };
    running.set(worker, one);
    child.on('message', (message: unknown) => {
      if (fromWorker.Check(message)) return hear(one, message);
      log.error('a worker said what none says, and is killed', { worker });
      child.kill('SIGKILL');
    });
    // A message to a worker that has just ended; its end is handled below.
    child.on('error', (error) => log.debug('a worker was not told', { worker, cause: error.message }));
    child.once('exit', (code, signal) => {
      running.delete(worker);
      if (isStopping) return;
      endsInRow = performance.now() - startedMs < STEADY_MS ? endsInRow + 1 : 1;
      const cause = signal ?? `status ${code}`;
      log.error('a worker ended', { worker, cause, in_a_row: endsInRow });
      if (endsInRow >= ENDS_MAX) {
        const why = `workers keep ending (the last one with ${cause}), see the lines before`;
        lost.resolve(why);
        listening.reject(new WorkersFault(why));
        return;
      }
      restarts++;
      setTimeout(() => isStopping || run(worker, port), BACK_OFF_MS * 2 ** (endsInRow - 1));
    });
    child.send(options.startOf(worker, port));
    tellOne(one);
  }

  function hear(one: Running, message: FromWorker): void {
    one.silentFor = 0;
    switch (message.kind) {
      case 'listening':
        one.isListening = true;
        if (areReady()) listening.resolve();
        return;
      case 'report': {
        one.facts = message.facts;
        const agentIds = options.take(message);
        if (agentIds.length > 0) one.child.send({ kind: 'watch', agentIds });
      }
    }
  }

  function tellOne(one: Running): void {
    if (!one.child.connected) return;
    const shared = options.certificate();
    if (shared !== null && shared !== one.certificate) {
      one.certificate = shared;
      const { cert, key, ticketKey } = shared;
      one.child.send({ kind: 'certificate', cert, key, ticketKey });
    }
    if (latest !== null) one.child.send(latest);
  }

  async function tellAll(): Promise<void> {
    latest = await options.now();
    for (const one of running.values()) tellOne(one);
  }

  function killSilent(): void {
    for (const [worker, one] of running) {
      if (++one.silentFor <= (one.isListening ? SILENT_MAX.running : SILENT_MAX.starting)) continue;
      log.error('a worker hangs and is killed', { worker });
      one.child.kill('SIGKILL');
    }
  }

  return {
    async start(port) {
      latest = await options.now();
      for (let worker = 1; worker <= count; worker++) run(worker, port);
      telling = setInterval(() => {
        killSilent();
        void tellAll();
      }, tellMs);
      await listening.promise;
    },
    areReady,
    tell: () => void tellAll(),
    facts: () =>
      new Map([...running].flatMap(([worker, { facts }]) => (facts === null ? [] : [[worker, facts]]))),
    restarts: () => restarts,
    lost: lost.promise,
    async stop() {
      isStopping = true;
      if (telling) clearInterval(telling);
      await Promise.all([...running.values()].map(({ child }) => ended(child)));
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  // After its last report.
  child.once('close', () => resolve());
  child.send({ kind: 'stop' });
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MAX_MS);
  await promise;
  clearTimeout(timer);
}

/** A worker is told what it needs: no secret of the settings reaches it. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SERVICE_')));
}
