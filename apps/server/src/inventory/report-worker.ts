import { parentPort } from 'node:worker_threads';
import type { InventoryPackage } from '@tidegate/protocol/agent-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { FieldFault } from '../platform/http/refusal.ts';
import { type ReadReport, type ReadUpdate, readReport, reportDigest } from './read-report.ts';

/** Items of one message: what the other thread takes over in one piece. A plan counts by its actions. */
const MESSAGE_ITEMS = 1_000;

export type ToWorker =
  | { kind: 'read'; ecosystem: Ecosystem; bytes: Uint8Array; knownDigest: string | null }
  /** Asks for the next part of the report. */
  | { kind: 'more' };

export type FromWorker =
  /** The digest is the known one: nothing was parsed. */
  | { kind: 'known' }
  | { kind: 'refused'; detail: string; errors: readonly FieldFault[] }
  | { kind: 'report'; digest: string; scannedAt: string; complete: boolean }
  | { kind: 'part'; packages: readonly InventoryPackage[]; updates: readonly ReadUpdate[]; isLast: boolean };

/** Reads one report at a time; the other thread asks for its parts, so that none waits in its queue. */
function answerReads(post: (message: FromWorker) => void): (message: ToWorker) => void {
  let parts: Iterator<FromWorker> = [][Symbol.iterator]();
  return (message) => {
    if (message.kind === 'more') {
      const next = parts.next();
      if (!next.done) post(next.value);
      return;
    }
    const digest = reportDigest(message.bytes);
    if (digest === message.knownDigest) {
      post({ kind: 'known' });
      return;
    }
    const reading = readReport(message.ecosystem, message.bytes);
    if (!reading.ok) {
      post({ kind: 'refused', detail: reading.detail, errors: reading.errors });
      return;
    }
    const { report } = reading;
    parts = partsOf(report);
    post({ kind: 'report', digest, scannedAt: report.scanned_at, complete: report.complete });
  };
}

function* partsOf({ packages, updates }: ReadReport): Generator<FromWorker> {
  for (let i = 0; i < packages.length; i += MESSAGE_ITEMS) {
    yield { kind: 'part', packages: packages.slice(i, i + MESSAGE_ITEMS), updates: [], isLast: false };
  }
  let some: ReadUpdate[] = [];
  let items = 0;
  for (const update of updates) {
    const weight = 1 + (update.plan?.actions.length ?? 0);
    if (some.length > 0 && items + weight > MESSAGE_ITEMS) {
      yield { kind: 'part', packages: [], updates: some, isLast: false };
      some = [];
      items = 0;
    }
    some.push(update);
    items += weight;
  }
  yield { kind: 'part', packages: [], updates: some, isLast: true };
}

if (parentPort !== null) {
  const port = parentPort;
  port.on(
    'message',
    answerReads((message) => port.postMessage(message)),
  );
}
