import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { hashOfEvent } from './append-event.ts';
import type { ChainHead, EventRow } from './store.ts';

/** Where a walk begins: `hash` is null only at position 0, before the very first event. */
export interface ChainStart {
  position: number;
  hash: string | null;
}

/** A head that a host keeps; with the time of the server's signature, if known. */
export interface HostHead extends Pin {
  seenAtMs: number | null;
}

/** A fact about the chain from elsewhere: the row at the position must have the hash. */
export interface Pin extends ChainHead {
  /** The server's epoch at that time; null if it was not recorded. */
  epoch: number | null;
  /** The source, as the subject of a sentence. */
  source: string;
}

export type ChainFaultKind =
  | 'changed'
  | 'moved'
  | 'removed'
  | 'inserted'
  | 'unlinked'
  | 'rewritten'
  | 'truncated'
  | 'bad_checkpoint'
  | 'unreadable';

/** The first tampered row, and the fault in one sentence. */
export interface ChainFault {
  kind: ChainFaultKind;
  position: number;
  /** Null if the row is missing. */
  id: string | null;
  detail: string;
}

/** A row that decides more than its own link: one that a pin names, or one that records a restore from backup. */
export interface NotedRow extends ChainHead {
  id: string;
  restoredEpoch: number | null;
}

/** Consecutive rows whose hashes and links were found right, whatever is before them. */
export interface ChainPart {
  /** The row before the first one, as the first one names it. */
  from: ChainStart;
  to: ChainHead;
  noted: readonly NotedRow[];
}

export interface ChainVerifier {
  /** Takes rows in the order of the log. Null while all is well; after a fault the walk is over. */
  take(row: EventRow): ChainFault | null;
  /**
   * Takes all rows of a part at once. False, and nothing is taken, if it does not follow what was taken before or a pin
   * says something else: `take` finds the fault. Every row that a pin names must be noted.
   */
  pass(part: ChainPart): boolean;
  /** Call at the end of the log: `head` is the log's own record of its newest row; null without one. */
  end(head: ChainStart | null): ChainFault | null;
  last(): ChainStart;
  /** The newest pin that a row matched. */
  pinned(): Pin | null;
  /** Position of the newest event that records a restore from backup. */
  restoredAt(): number | null;
}

/** How far around its position a moved row is searched. */
const MOVED_AT_MOST = 1_000;

/**
 * Walks a chain of events (16.4.2) one row at a time and keeps only the last hash: positions are consecutive,
 * each row matches its own hash and names the previous hash, and every pin holds. Pins come sorted by
 * position. Those of an earlier epoch end where the log records a restore from backup: that branch is gone.
 * This requires a pin of the new epoch, so that a row alone cannot silence the pins. `epoch` is that of the signed
 * checkpoint at the start, if there is one: the row that records the restore may have been removed before it.
 */
export function createChainVerifier({
  start,
  epoch = 0,
  pins,
}: {
  start: ChainStart;
  epoch?: number;
  pins: readonly Pin[];
}): ChainVerifier {
  const newestEpoch = Math.max(0, ...pins.map((pin) => pin.epoch ?? 0));
  const firstPin = pins.findIndex((pin) => pin.position > start.position);
  let at: Place = {
    last: start,
    epoch,
    restoredAt: null,
    nextPin: firstPin === -1 ? pins.length : firstPin,
    pinned: null,
  };

  function countedPin(): Pin | undefined {
    for (; at.nextPin < pins.length; at.nextPin++) {
      const pin = pins[at.nextPin];
      if (pin && (pin.epoch === null || pin.epoch >= at.epoch)) return pin;
    }
    return undefined;
  }

  function judgeNoted({ restoredEpoch, ...row }: NotedRow): ChainFault | null {
    if (restoredEpoch !== null) at.restoredAt = row.position;
    if (restoredEpoch !== null && restoredEpoch <= newestEpoch) at.epoch = Math.max(at.epoch, restoredEpoch);
    for (let pin = countedPin(); pin !== undefined && pin.position <= row.position; pin = countedPin()) {
      if (pin.hash !== row.hash) {
        const since = at.pinned === null ? '' : ` after position ${at.pinned.position}`;
        const detail = `${pin.source} names another row at this position: this row, or an earlier one${since}, was rewritten`;
        return faultAt(row, 'rewritten', detail);
      }
      at.pinned = pin;
      at.nextPin++;
    }
    return null;
  }

  return {
    take(row) {
      const fault = judgeRow(row, at.last);
      if (fault !== null) return fault;
      at.last = { position: row.position, hash: row.hash };
      return judgeNoted(noted(row));
    },
    pass({ from, to, noted }) {
      const before = { ...at };
      if (from.position !== before.last.position || from.hash !== before.last.hash) return false;
      if (noted.some((row) => judgeNoted(row) !== null)) {
        at = before;
        return false;
      }
      at.last = to;
      return true;
    },
    end(head) {
      if (head !== null && head.position < at.last.position) {
        const detail = `the log continues past its head, which is at ${head.position}: the row was inserted`;
        return { kind: 'inserted', position: head.position + 1, id: null, detail };
      }
      const missing = head !== null && head.position > at.last.position ? 'the head of the log' : null;
      const named = countedPin();
      if (missing !== null || named !== undefined) {
        const source = missing ?? named?.source ?? '';
        const position = (missing === null ? named : head)?.position ?? 0;
        const detail = `the log ends at ${at.last.position}, but ${source} is at ${position}: the end was cut off`;
        return { kind: 'truncated', position: at.last.position + 1, id: null, detail };
      }
      if (head !== null && head.hash !== at.last.hash) {
        const detail = 'the head of the log names another hash: the row was rewritten';
        return { kind: 'rewritten', position: at.last.position, id: null, detail };
      }
      return null;
    },
    last: () => at.last,
    pinned: () => at.pinned,
    restoredAt: () => at.restoredAt,
  };
}

/** How far a walk has come. */
interface Place {
  last: ChainStart;
  epoch: number;
  restoredAt: number | null;
  nextPin: number;
  pinned: Pin | null;
}

/** Whether the row follows the one before it, and matches its own hash. */
export function judgeRow(row: EventRow, before: ChainStart): ChainFault | null {
  const expected = before.position + 1;
  if (row.position > expected) {
    const until = row.position - 1;
    const which = until === expected ? 'this row was' : `the rows from here to ${until} were`;
    return { kind: 'removed', position: expected, id: null, detail: `${which} removed` };
  }
  if (row.position < expected) {
    return faultAt(
      row,
      'moved',
      `it follows position ${before.position}: rows were reordered, or it was inserted`,
    );
  }
  const { hash, ...content } = row;
  if (hashOfEvent(content) !== hash) {
    const place = placeOf(row);
    if (place === null) {
      return faultAt(
        row,
        'changed',
        'it does not match its hash: the row was changed after it was written, or inserted',
      );
    }
    const how = place > row.position ? 'rows before it were removed' : 'a row was inserted before it';
    return faultAt(row, 'moved', `it was written as position ${place}: rows were reordered, or ${how}`);
  }
  if (row.previous_hash !== before.hash) {
    return faultAt(
      row,
      'unlinked',
      'it does not name the hash of the row before it: one of the two was inserted or rewritten',
    );
  }
  return null;
}

/** The position under which the row matches its hash; null if none is nearby. */
function placeOf({ hash, ...content }: EventRow): number | null {
  for (let step = 1; step <= MOVED_AT_MOST; step++) {
    for (const position of [content.position + step, content.position - step]) {
      if (hashOfEvent({ ...content, position }) === hash) return position;
    }
  }
  return null;
}

export function noted(row: EventRow): NotedRow {
  const { position, id, hash } = row;
  return { position, id, hash, restoredEpoch: restoredEpoch(row) };
}

/** The first event that a server writes after a restore from backup names the new epoch. */
function restoredEpoch({ type, content }: EventRow): number | null {
  if (type !== 'RESTORE_DETECTED') return null;
  const parsed = parseStrictJson(content);
  return parsed.ok && Value.Check(Restored, parsed.value) ? parsed.value.epoch : null;
}

const Restored = Type.Object({ epoch: Type.Integer({ minimum: 1 }) });

function faultAt(
  { position, id }: Pick<EventRow, 'position' | 'id'>,
  kind: ChainFaultKind,
  detail: string,
): ChainFault {
  return { kind, position, id, detail };
}
