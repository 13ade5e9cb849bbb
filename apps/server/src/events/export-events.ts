import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { PINS_MAX } from './collect-pins.ts';
import { EXPORT_VERSION, type ExportLine } from './export-lines.ts';
import { checkpointsBetween, newestAnchor, pageOfEvents, readHead } from './store.ts';
import type { ChainStart } from './verify-chain.ts';

/** Rows read at once, which bounds the memory of an export. */
const PAGE = 500;

export interface ExportRange {
  /** First position; null: the beginning of the log. */
  from: number | null;
  /** Last position; null: the current end of the log. */
  to: number | null;
}

/**
 * The log as lines of JSON, a part at a time: its beginning, the signed checkpoints, the events exactly as
 * hashed, and its end. The public keys are enough to verify it.
 */
export async function* exportEvents(
  db: Db,
  { range, fleetId, nowMs }: { range: ExportRange; fleetId: string; nowMs: number },
): AsyncGenerator<string[]> {
  const anchor = await newestAnchor(db);
  const head = await readHead(db);
  const begin = Math.max(range.from ?? 0, (anchor?.position ?? 0) + 1, 1);
  const until = Math.min(range.to ?? Number.MAX_SAFE_INTEGER, head?.position ?? 0);
  let page = await pageOfEvents(db, { after: begin - 1, until, limit: PAGE });
  const start: ChainStart = { position: begin - 1, hash: page[0]?.previous_hash ?? null };
  const checkpoints = await checkpointsBetween(db, { after: start.position, until, limit: PINS_MAX });
  yield textOf([
    {
      tidegate_events: EXPORT_VERSION,
      fleet_id: fleetId,
      exported_at: rfc3339(nowMs),
      start,
      partial: range.to !== null,
    },
    ...checkpoints.map(({ envelope }) => ({ checkpoint: JSON.parse(envelope) })),
  ]);
  let end: ChainStart = start;
  while (page.length > 0) {
    yield textOf(page.map((event) => ({ event })));
    const last = page.at(-1);
    if (last) end = { position: last.position, hash: last.hash };
    page = await pageOfEvents(db, { after: end.position, until, limit: PAGE });
  }
  yield textOf([{ end }]);
}

function textOf(lines: readonly ExportLine[]): string[] {
  return lines.map((line) => JSON.stringify(line));
}
