import { Worker } from 'node:worker_threads';
import type { InventoryPackage } from '@tidegate/protocol/agent-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { Log } from '../platform/log.ts';
import { IS_BUNDLED } from '../platform/program.ts';
import type { Reading, ReadUpdate } from './read-report.ts';
import type { FromWorker, ReportBody, ToWorker } from './report-worker.ts';

/** Maximum time to read one report; then its thread is ended. */
export const READ_TIMEOUT_MS = 20_000;
/** Memory of the thread: a report of 8 MiB takes less than a quarter of it. */
const HEAP_MAX_MB = 512;
const WORKER = new URL(IS_BUNDLED ? './report-worker.js' : './report-worker.ts', import.meta.url);

export interface LargeReport {
  ecosystem: Ecosystem;
  /** The buffer is transferred: the caller can no longer use it. */
  body: ReportBody;
  /** Digest of the stored report; identical bytes are not parsed again. */
  knownDigest: string | null;
}

export type Packing =
  /** `digest` is that of the bytes; `read` later takes the pieces. */
  | { kind: 'packed'; digest: string; packageCount: number; pieces: readonly string[] }
  | { kind: 'refused'; reading: Extract<Reading, { ok: false }> }
  | { kind: 'unavailable' };

export type LargeReading =
  | { kind: 'known' }
  | { kind: 'read'; digest: string; reading: Reading }
  /** The thread ended or took too long; the next report has a new one. */
  | { kind: 'unavailable' };

/** Reads reports in a separate thread, one after the other. */
export interface ReportReader {
  /** Starts the thread early; otherwise the first report starts it. */
  start(): void;
  read(report: LargeReport): Promise<LargeReading>;
  /** Reads a report and packs it for storage. */
  pack(report: Omit<LargeReport, 'knownDigest'>): Promise<Packing>;
  stop(): Promise<void>;
}

export interface ReaderOptions {
  log: Pick<Log, 'error'>;
  /** The program of the thread; tests may replace it. */
  worker?: URL;
  timeoutMs?: number;
}

export function createReportReader({
  log,
  worker: program = WORKER,
  timeoutMs = READ_TIMEOUT_MS,
}: ReaderOptions): ReportReader {
  let thread: Worker | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  function threadOf(): Worker {
    if (thread !== null) return thread;
    const started = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MB } });
    // The thread alone does not keep the process alive.
    started.unref();
    thread = started;
    return started;
  }

  async function give(job: Job): Promise<Exclude<Outcome, { kind: 'lost' }>> {
    const worker = threadOf();
    const outcome = await converse(worker, { job, timeoutMs });
    if (outcome.kind !== 'lost') return outcome;
    log.error('the thread that reads reports was replaced', { cause: outcome.cause });
    if (thread === worker) thread = null;
    await worker.terminate();
    return { kind: 'unavailable' };
  }

  function inTurn(job: Job): Promise<Exclude<Outcome, { kind: 'lost' }>> {
    const mine = turn.then(() => give(job));
    turn = mine.catch(() => {});
    return mine;
  }

  return {
    start: () => void threadOf(),
    async read(report) {
      const outcome = await inTurn({ kind: 'read', ...report });
      switch (outcome.kind) {
        case 'packed':
          throw new Error('a report that was to be read was packed');
        case 'refused':
          return { kind: 'read', digest: '', reading: outcome.reading };
        case 'known':
        case 'read':
        case 'unavailable':
          return outcome;
      }
    },
    async pack(report) {
      const outcome = await inTurn({ kind: 'pack', ...report });
      switch (outcome.kind) {
        case 'known':
        case 'read':
          throw new Error('a report that was to be packed was read');
        case 'packed':
        case 'refused':
        case 'unavailable':
          return outcome;
      }
    },
    async stop() {
      await turn;
      await thread?.terminate();
      thread = null;
    },
  };
}

type Job = Exclude<ToWorker, { kind: 'more' }>;
type Outcome = LargeReading | Packing | { kind: 'lost'; cause: string };

/** One report: transfers its bytes, and receives its parts one by one, each in its own turn of the loop. */
function converse(worker: Worker, { job, timeoutMs }: { job: Job; timeoutMs: number }): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const packages: InventoryPackage[] = [];
  const updates: ReadUpdate[] = [];
  let head: Extract<FromWorker, { kind: 'report' }> | null = null;

  function onMessage(message: FromWorker): void {
    switch (message.kind) {
      case 'known':
        resolve({ kind: 'known' });
        break;
      case 'refused':
      case 'packed':
        resolve(message);
        break;
      case 'report':
        head = message;
        send(worker, { kind: 'more' });
        break;
      case 'part':
        packages.push(...message.packages);
        updates.push(...message.updates);
        if (message.isLast && head !== null) resolve(reportOf(head, { packages, updates }));
        else send(worker, { kind: 'more' });
        break;
    }
  }
  const onError = (error: Error) => resolve({ kind: 'lost', cause: error.message });
  const onExit = (code: number) => resolve({ kind: 'lost', cause: `it ended with ${code}` });
  const timer = setTimeout(
    () => resolve({ kind: 'lost', cause: `a report took longer than ${timeoutMs} ms` }),
    timeoutMs,
  );
  worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  send(worker, job, job.body instanceof Uint8Array ? transferable(job.body) : []);
  return promise.finally(() => {
    clearTimeout(timer);
    worker.off('message', onMessage).off('error', onError).off('exit', onExit);
  });
}

function reportOf(
  { digest, scannedAt, complete, condition }: Extract<FromWorker, { kind: 'report' }>,
  content: { packages: InventoryPackage[]; updates: ReadUpdate[] },
): Outcome {
  const report = { scanned_at: scannedAt, complete, ...(condition && { condition }), ...content };
  return { kind: 'read', digest, reading: { ok: true, report } };
}

function send(worker: Worker, message: ToWorker, transfer: ArrayBuffer[] = []): void {
  worker.postMessage(message, transfer);
}

/** Transfers buffers instead of copying, unless they share their memory. */
function transferable({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
