import type { Db } from '../platform/db/engine.ts';
import { beginningOf, collectPins, PINS_MAX } from './collect-pins.ts';
import type { CheckpointKeys } from './open-checkpoint.ts';
import { newestAnchor, newestCheckpoints, pageOfEvents, readHead } from './store.ts';
import {
  type ChainFault,
  type ChainStart,
  type ChainVerifier,
  createChainVerifier,
  type Pin,
} from './verify-chain.ts';

/** Rows read at once, which bounds the memory of a walk. */
const PAGE = 500;
const BEFORE_ALL: ChainStart = { position: 0, hash: null };
/** How often a walk restarts because the beginning of the log was pruned meanwhile. */
const WALKS_MAX = 5;

export interface Walked {
  /** The first tampered row; null if the log is intact. */
  fault: ChainFault | null;
  /** Position and hash after which the log begins. */
  start: ChainStart;
  /** Where the walk ended. */
  last: ChainStart;
  rows: number;
  checkpoints: number;
  /** The newest checkpoint or head that matched; later rows are chained and not yet signed. */
  pinned: Pin | null;
  restoredAt: number | null;
  warnings: string[];
}

export interface WalkOptions {
  trusted: CheckpointKeys;
  /** Lines of the checkpoint file, oldest first. */
  lines: readonly string[];
  /** Heads from hosts. */
  heads: readonly Pin[];
  onProgress?: (done: number, total: number) => void;
}

/** Walks the chain of events in a database, which may grow meanwhile (16.4.2). */
export async function verifyDatabase(db: Db, options: WalkOptions): Promise<Walked> {
  for (let walks = 1; ; walks++) {
    const anchor = await newestAnchor(db);
    const walked = await walkOnce(db, options);
    if (walked.fault === null || walks === WALKS_MAX) return walked;
    if ((await newestAnchor(db))?.position === anchor?.position) return walked;
  }
}

async function walkOnce(db: Db, options: WalkOptions): Promise<Walked> {
  const { trusted, lines, heads, onProgress } = options;
  const anchor = await newestAnchor(db);
  const rows = (await newestCheckpoints(db, PINS_MAX)).filter(
    (row) => row.position > (anchor?.position ?? 0),
  );
  const collected = collectPins(trusted, { rows, lines, heads });
  const beginning = beginningOf(trusted, anchor);
  const start = beginning.ok
    ? beginning.start
    : { position: anchor?.position ?? 0, hash: anchor?.hash ?? null };
  const verifier = createChainVerifier({ start, pins: collected.pins });
  const found = await walk(db, verifier, onProgress);
  const faults = [...(beginning.ok ? [] : [beginning.fault]), ...collected.faults, ...(found ? [found] : [])];
  const last = verifier.last();
  return {
    fault: faults.toSorted((a, b) => a.position - b.position)[0] ?? null,
    start,
    last,
    rows: last.position - start.position,
    checkpoints: collected.pins.length,
    pinned: verifier.pinned(),
    restoredAt: verifier.restoredAt(),
    warnings: collected.warnings,
  };
}

async function walk(
  db: Db,
  verifier: ChainVerifier,
  onProgress: WalkOptions['onProgress'],
): Promise<ChainFault | null> {
  const begun = verifier.last().position;
  for (;;) {
    const head = await readHead(db);
    const page = await pageOfEvents(db, { after: verifier.last().position, until: null, limit: PAGE });
    for (const row of page) {
      const fault = verifier.take(row);
      if (fault) return fault;
    }
    const { position } = verifier.last();
    onProgress?.(position - begun, Math.max(head?.position ?? 0, position) - begun);
    if (page.length > 0) continue;
    // The head was read before the page, so in a growing log the page contains its row.
    const now = await readHead(db);
    if (now !== null && now.position > position && now.position !== head?.position) continue;
    return verifier.end(now ?? BEFORE_ALL);
  }
}
