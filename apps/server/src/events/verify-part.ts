import type { EventRow } from './store.ts';
import { type ChainPart, type ChainStart, judgeRow, type NotedRow, noted } from './verify-chain.ts';

/** Rows read at once, which bounds the memory of a walk. */
export const PAGE = 500;
/** Rows that record a restore, in one part: more of them are no server's. */
const NOTED_MAX = 1_000;

/** A part of the log, after one position and up to another, and the positions that pins name in it. */
export interface PartOrder {
  after: number;
  until: number;
  pinned: readonly number[];
}

export type ReadRows = (range: { after: number; until: number; limit: number }) => Promise<EventRow[]>;

/** Verifies each row of a part and its link to the one before; null if one is missing or wrong. */
export async function verifyPart(
  read: ReadRows,
  { after, until, pinned }: PartOrder,
): Promise<ChainPart | null> {
  const pins = new Set(pinned);
  const found: NotedRow[] = [];
  let from: ChainStart | null = null;
  let last = { position: after, hash: '' };
  while (last.position < until) {
    const page = await read({ after: last.position, until, limit: PAGE });
    if (page.length === 0) return null;
    for (const row of page) {
      from ??= { position: after, hash: row.previous_hash };
      if (judgeRow(row, row.position === after + 1 ? from : last) !== null) return null;
      last = { position: row.position, hash: row.hash };
      const note = noted(row);
      if (note.restoredEpoch !== null || pins.has(row.position)) found.push(note);
    }
    if (found.length > pins.size + NOTED_MAX) return null;
  }
  return from && { from, to: last, noted: found };
}
