import type { Db } from '../platform/db/engine.ts';
import { ANCHORS_MAX, beginningOf, type Removal } from './beginning.ts';
import { collectPins, PINS_MAX } from './collect-pins.ts';
import type { CheckpointKeys } from './open-checkpoint.ts';
import { type PartVerifier, passParts } from './pass-parts.ts';
import {
  contentsOfType,
  newestAnchor,
  newestAnchors,
  newestCheckpoints,
  pageOfEvents,
  readHead,
} from './store.ts';
import {
  type ChainFault,
  type ChainStart,
  type ChainVerifier,
  createChainVerifier,
  type Pin,
} from './verify-chain.ts';
import { PAGE } from './verify-part.ts';

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
  /** What was removed last from the beginning of the log, as it was signed; null if nothing, or nothing signed. */
  removed: Removal | null;
  warnings: string[];
}

export interface WalkOptions {
  trusted: CheckpointKeys;
  /** Lines of the checkpoint file, oldest first. */
  lines: readonly string[];
  /** Heads from hosts. */
  heads: readonly Pin[];
  /** They verify what the log has at the start, at the same time; without them one walk does. */
  verifiers?: readonly PartVerifier[];
  partRows?: number;
  onProgress?: (done: number, total: number) => void;
}

/**
 * Walks the chain of events in a database, which may grow meanwhile (16.4.2). The verifiers only move the walk forward:
 * it stops before their first part that is not right, and finds the fault itself.
 */
export async function verifyDatabase(db: Db, options: WalkOptions): Promise<Walked> {
  for (let walks = 1; ; walks++) {
    const anchor = await newestAnchor(db);
    const walked = await walkOnce(db, options);
    if (walked.fault === null || walks === WALKS_MAX) return walked;
    if ((await newestAnchor(db))?.position === anchor?.position) return walked;
  }
}

async function walkOnce(db: Db, options: WalkOptions): Promise<Walked> {
  const { trusted, lines, heads, verifiers = [], partRows, onProgress } = options;
  const anchors = await newestAnchors(db, ANCHORS_MAX);
  const [anchor = null] = anchors;
  const recorded = await contentsOfType(db, 'events_pruned', ANCHORS_MAX);
  const rows = (await newestCheckpoints(db, PINS_MAX)).filter(
    (row) => row.position > (anchor?.position ?? 0),
  );
  const collected = collectPins(trusted, { rows, lines, heads });
  const beginning = beginningOf(trusted, { anchors, recorded });
  const start = beginning.ok
    ? beginning.start
    : { position: anchor?.position ?? 0, hash: anchor?.hash ?? null };
  const epoch = beginning.ok ? beginning.epoch : 0;
  const verifier = createChainVerifier({ start, epoch, pins: collected.pins });
  if (verifiers.length > 0) {
    const until = (await readHead(db))?.position ?? 0;
    const pinned = collected.pins.map(({ position }) => position);
    const onPassed = (position: number) => onProgress?.(position - start.position, until - start.position);
    await passParts(verifier, { verifiers, pinned, until, partRows, onPassed });
  }
  const found = await walk(db, { verifier, begun: start.position, onProgress });
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
    removed: beginning.ok ? beginning.removed : null,
    warnings: [...(beginning.ok ? beginning.warnings : []), ...collected.warnings],
  };
}

async function walk(
  db: Db,
  {
    verifier,
    begun,
    onProgress,
  }: { verifier: ChainVerifier; begun: number; onProgress: WalkOptions['onProgress'] },
): Promise<ChainFault | null> {
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
