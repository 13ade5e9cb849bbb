import { STREAM_IDS_MAX } from '@tidegate/protocol/stream-api';
import type { Platform } from '../platform/platform.ts';
import {
  eventsAfter,
  idsWrittenSince,
  type Marks,
  readMarks,
  WATCHED_ROWS,
  type WatchedRows,
  type Written,
  writtenSince,
} from './store.ts';
import { type Change, changesOf } from './topic-rules.ts';

/** Poll interval: no topic is reported more often than this. */
const LOOK_EVERY_MS = 1_000;
/** How late a row may be committed after a newer one: a long transaction, or the clock of a replica. */
const OVERLAP_MS = 10_000;
/** Events per poll; the next poll reads the rest. */
const EVENTS_MAX = 500;

export interface ChangeWatch {
  /** Resolves once no later change is missed. Call the resolved function to stop listening. */
  listen(listener: (changes: readonly Change[]) => void): Promise<() => void>;
  stop(): Promise<void>;
}

/**
 * Detects changes in the database, by any replica or program, and notifies the listeners. It polls a few
 * numbers, and only while somebody listens; writers do no extra work.
 */
export function createChangeWatch(
  platform: Pick<Platform, 'database' | 'now' | 'log'>,
  { lookEveryMs = LOOK_EVERY_MS }: { lookEveryMs?: number } = {},
): ChangeWatch {
  const listeners = new Set<(changes: readonly Change[]) => void>();
  let looking: Promise<void> = Promise.resolve();
  let look: (() => Promise<Change[]>) | null = null;
  let opening: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isStopped = false;
  let isFailing = false;

  async function lookAndTell(): Promise<void> {
    try {
      const changes = look ? await look() : [];
      isFailing = false;
      if (changes.length > 0) for (const listener of listeners) listener(changes);
    } catch (error) {
      if (!isFailing) platform.log.error('the watch for changes failed', { error: String(error) });
      isFailing = true;
    }
  }

  function schedule(): void {
    if (isStopped || listeners.size === 0) {
      look = null;
      return;
    }
    timer = setTimeout(() => {
      looking = lookAndTell().then(schedule);
    }, lookEveryMs);
    timer.unref();
  }

  async function open(): Promise<void> {
    look = await openLook(platform);
    schedule();
  }

  return {
    async listen(listener) {
      listeners.add(listener);
      try {
        if (look === null) {
          opening ??= open().finally(() => {
            opening = null;
          });
          await opening;
        }
      } catch (error) {
        listeners.delete(listener);
        throw error;
      }
      return () => void listeners.delete(listener);
    },
    async stop() {
      isStopped = true;
      listeners.clear();
      if (timer) clearTimeout(timer);
      await looking;
    },
  };
}

/** Records the current state; the resolved function returns the changes since its last call. */
async function openLook(platform: Pick<Platform, 'database' | 'now'>): Promise<() => Promise<Change[]>> {
  const db = platform.database.read;
  const looks = await Promise.all(WATCHED_ROWS.map((rows) => openRowsLook(platform, rows)));
  let { eventsHead, ...marks } = await readMarks(db);

  async function newEvents(head: number): Promise<Change[]> {
    if (head === eventsHead) return [];
    const events = await eventsAfter(db, { after: eventsHead, limit: EVENTS_MAX });
    // The head of a restored database is behind: everything may differ.
    eventsHead = events.at(-1)?.position ?? head;
    return events.length > 0 ? changesOf(events) : [{ topic: 'events', ids: null }];
  }

  return async () => {
    const changes = (await Promise.all(looks.map((each) => each()))).flat();
    const { eventsHead: head, ...newMarks } = await readMarks(db);
    changes.push(...(await newEvents(head)), ...differences(marks, newMarks));
    marks = newMarks;
    return changes;
  };
}

function differences(before: Marks, after: Marks): Change[] {
  return (['keys', 'advisories', 'bulk', 'notifications'] as const)
    .filter((topic) => before[topic] !== after[topic])
    .map((topic) => ({ topic, ids: null }));
}

interface Window {
  readonly sinceMs: number;
  readonly written: Written;
  /** When each row was written; null if there are too many to tell apart. */
  readonly ids: ReadonlyMap<string, number> | null;
}

/** The rows of one table; compares the last seconds with their earlier state, to see late commits too. */
async function openRowsLook(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  rows: WatchedRows,
): Promise<() => Promise<Change[]>> {
  const db = database.read;

  async function idsOf(sinceMs: number, { rows: count }: Written): Promise<Window['ids']> {
    if (count > STREAM_IDS_MAX) return null;
    const found = await idsWrittenSince(db, rows, { sinceMs, limit: STREAM_IDS_MAX + 1 });
    return found.length > STREAM_IDS_MAX ? null : new Map(found.map(({ id, atMs }) => [id, atMs]));
  }
  async function openWindow(sinceMs: number): Promise<Window> {
    const written = await writtenSince(db, rows, sinceMs);
    return { sinceMs, written, ids: await idsOf(sinceMs, written) };
  }

  let window = await openWindow(now() - OVERLAP_MS);
  return async () => {
    if (now() < window.sinceMs) {
      // The clock was set back: what is written from now on would be before the window, and some has been.
      window = await openWindow(now() - OVERLAP_MS);
      return [{ topic: rows.topic, ids: null }];
    }
    const { sinceMs, written, ids: before } = window;
    // The clock of another replica may be ahead: it must not hide later rows.
    const nextSinceMs = Math.max(sinceMs, Math.min(written.newestMs, now()) - OVERLAP_MS);
    // Read first: rows written in between are reported now, and again at the next poll.
    const next = nextSinceMs > sinceMs ? await openWindow(nextSinceMs) : null;
    const found = await writtenSince(db, rows, sinceMs);
    if (isSame(found, written)) {
      window = next ?? window;
      return [];
    }
    const ids = await idsOf(sinceMs, found);
    window = next ?? { sinceMs, written: found, ids };
    if (!ids || !before) return [{ topic: rows.topic, ids: null }];
    const changed = [...ids].flatMap(([id, atMs]) => (before.get(id) === atMs ? [] : [id]));
    if (changed.length > 0) return [{ topic: rows.topic, ids: changed }];
    // Written between the two reads of the last poll, which has reported it; or a row is gone.
    return ids.size === before.size ? [] : [{ topic: rows.topic, ids: null }];
  };
}

function isSame(a: Written, b: Written): boolean {
  return a.rows === b.rows && a.newestMs === b.newestMs && a.spreadMs === b.spreadMs;
}
