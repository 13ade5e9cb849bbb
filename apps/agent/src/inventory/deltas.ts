import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DELTA_MAX_BYTES, type InventoryDelta } from '@tidegate/protocol/agent-api';
import { deltaBetween, type NamedReport, sameReport } from '@tidegate/protocol/inventory-delta';
import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import type { Failure } from '../platform/failures.ts';
import { errorCode } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import { loadReport, type Report, saveReport } from './report-file.ts';

/** One changed report in so many goes whole, at random: with it a difference that nobody noticed ends. */
export const WHOLE_EVERY = 32;
/** How long whole reports go to a server that does not know deltas. */
export const UNKNOWN_MS = 24 * 3_600_000;

/**
 * The way from the last report that the server has to the newest. The server decides whether it has the base: a wrong one
 * costs a request, after which the whole report goes out.
 */
export interface Deltas {
  /** A report was replaced by a newer one. It is the base of deltas, unless an older one that the server has still is. */
  replaced(ecosystem: Ecosystem, before: Report): void;
  /**
   * The body of a delta to the newest report, which has no changes where the server has that and its ids are missing; null: the
   * whole report goes out.
   */
  to(ecosystem: Ecosystem, newest: Report, options: { isAskedFor: boolean }): Uint8Array | null;
  /** A delta was not accepted: this report goes out whole. */
  failed(ecosystem: Ecosystem, failure: Failure): void;
  /** The server has the report with this digest: another base has served. */
  acknowledged(ecosystem: Ecosystem, sha256: string): void;
}

/** Opens the bases in a folder. They are read only when they are needed: a report is large in memory. */
export function openDeltas({
  folder,
  nowMs,
  random,
  log,
}: {
  folder: string;
  nowMs: () => number;
  random: () => number;
  log: Log;
}): Deltas {
  const pathOf = (ecosystem: Ecosystem) => join(folder, `inventory-${ecosystem}-base.json`);
  /** Digests of the bases. */
  const bases = new Map<Ecosystem, string>();
  for (const ecosystem of ECOSYSTEMS) {
    const base = loadReport(pathOf(ecosystem));
    if (base !== null) bases.set(ecosystem, base.encoded.sha256);
  }
  /** Digests of the last reports that the server had: it may be restored at any time. */
  const held = new Map<Ecosystem, string>();
  const whole = new Set<Ecosystem>();
  let unknownUntilMs = 0;

  function fromBase(ecosystem: Ecosystem, newest: NamedReport): InventoryDelta | null {
    if (!bases.has(ecosystem)) return null;
    const base = loadReport(pathOf(ecosystem));
    if (base === null || base.encoded.sha256 === newest.sha256) return null;
    return deltaBetween({ sha256: base.encoded.sha256, content: base.content }, newest);
  }

  return {
    replaced: (ecosystem, { encoded }) => {
      if (bases.has(ecosystem)) return;
      if (random() < 1 / WHOLE_EVERY) return;
      if (saveReport(pathOf(ecosystem), encoded, log)) bases.set(ecosystem, encoded.sha256);
    },
    to: (ecosystem, { encoded: { sha256 }, content }, { isAskedFor }) => {
      if (whole.has(ecosystem) || nowMs() < unknownUntilMs) return null;
      const newest = { sha256, content };
      const isHeld = !isAskedFor && content.complete && held.get(ecosystem) === sha256;
      const delta = isHeld ? sameReport(newest) : fromBase(ecosystem, newest);
      if (delta === null) return null;
      const bytes = new TextEncoder().encode(JSON.stringify(delta));
      return bytes.length <= DELTA_MAX_BYTES ? bytes : null;
    },
    failed: (ecosystem, failure) => {
      // A server that names a time is only busy. Without any answer something on the way may refuse the method.
      if (failure.kind === 'retryable' && failure.retryAfterMs !== null) return;
      whole.add(ecosystem);
      const isUnknown = failure.kind === 'rejected' && (failure.status === 404 || failure.status === 405);
      if (isUnknown) unknownUntilMs = nowMs() + UNKNOWN_MS * (1 + random());
    },
    acknowledged: (ecosystem, sha256) => {
      held.set(ecosystem, sha256);
      if (bases.get(ecosystem) === sha256) return;
      whole.delete(ecosystem);
      if (!bases.delete(ecosystem)) return;
      try {
        rmSync(pathOf(ecosystem), { force: true });
      } catch (error) {
        log.warn('the base of a report cannot be removed', { ecosystem, reason: errorCode(error) });
      }
    },
  };
}
