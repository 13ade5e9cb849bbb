import { parentPort } from 'node:worker_threads';
import { gunzipSync, gzipSync } from 'node:zlib';
import { INVENTORY_MAX_BYTES, type InventoryPackage } from '@tidegate/protocol/agent-api';
import type { PackageCondition } from '@tidegate/protocol/package-condition';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { type Reading, type ReadReport, type ReadUpdate, readReport, reportDigest } from './read-report.ts';

/** Items per message, which the main thread handles in one turn. A plan counts by its actions. */
const MESSAGE_ITEMS = 1_000;
const PIECE_CHARS = 128 * 1024;

/** The bytes of a report, or its packed pieces. */
export type ReportBody = Uint8Array | readonly string[];

export type ToWorker =
  | { kind: 'read'; ecosystem: Ecosystem; body: ReportBody; knownDigest: string | null }
  /** Reads the report, and packs it for storage. */
  | { kind: 'pack'; ecosystem: Ecosystem; body: ReportBody }
  /** Requests the next part of the report. */
  | { kind: 'more' };

export type FromWorker =
  /** The digest is the known one: nothing was parsed. */
  | { kind: 'known' }
  | { kind: 'refused'; reading: Extract<Reading, { ok: false }> }
  | { kind: 'packed'; digest: string; packageCount: number; pieces: readonly string[] }
  | {
      kind: 'report';
      digest: string;
      scannedAt: string;
      complete: boolean;
      condition: PackageCondition | null;
    }
  | { kind: 'part'; packages: readonly InventoryPackage[]; updates: readonly ReadUpdate[]; isLast: boolean };

/** Reads one report at a time; the main thread requests its parts, so that none waits in its queue. */
function answerReads(post: (message: FromWorker) => void): (message: ToWorker) => void {
  let parts: Iterator<FromWorker> = [][Symbol.iterator]();
  return (message) => {
    if (message.kind === 'more') {
      const next = parts.next();
      if (!next.done) post(next.value);
      return;
    }
    const { ecosystem, body } = message;
    const bytes = body instanceof Uint8Array ? body : unpack(body);
    const digest = reportDigest(bytes);
    if (message.kind === 'read' && digest === message.knownDigest) {
      post({ kind: 'known' });
      return;
    }
    const reading = readReport(ecosystem, bytes);
    if (!reading.ok) {
      post({ kind: 'refused', reading });
      return;
    }
    const { report } = reading;
    if (message.kind === 'pack') {
      post({ kind: 'packed', digest, packageCount: report.packages.length, pieces: pack(bytes) });
      return;
    }
    parts = partsOf(report);
    const { scanned_at: scannedAt, complete, condition = null } = report;
    post({ kind: 'report', digest, scannedAt, complete, condition });
  };
}

/** gzip in base64, one row per piece: the columns of the database are text. */
function pack(bytes: Uint8Array): string[] {
  const text = gzipSync(bytes, { level: 1 }).toString('base64');
  const pieces: string[] = [];
  for (let i = 0; i < text.length; i += PIECE_CHARS) pieces.push(text.slice(i, i + PIECE_CHARS));
  return pieces;
}

function unpack(pieces: readonly string[]): Uint8Array {
  return gunzipSync(Buffer.from(pieces.join(''), 'base64'), { maxOutputLength: INVENTORY_MAX_BYTES });
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
