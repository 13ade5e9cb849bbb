import type { CommitSteps, Database, Tx } from '../platform/db/engine.ts';
import type { UnchainedEvent } from '../platform/db/write-context.ts';
import { hashOfEvent } from './append-event.ts';
import { type EventRow, insertEvents, keepUnchained, lockHead, moveHead, takeUnchained } from './store.ts';

/** Events of one chaining transaction: longer ones would keep other servers waiting for the head. */
const CHAINED_AT_ONCE = 2_000;

/** Runs before each commit: chains the events of the transaction to the newest one. */
export async function chainEvents(tx: Tx): Promise<void> {
  const events = tx.context.events.splice(0);
  if (events.length > 0) await chain(tx, events, await lockHead(tx));
}

/**
 * Runs before each commit on PostgreSQL, where many transactions commit at the same moment: they would queue for the head
 * of the chain until the disk has each. Their events are stored with them, and `chainKept` gives all of them their places.
 */
async function keepEvents(tx: Tx): Promise<void> {
  const events = tx.context.events.splice(0);
  if (events.length === 0) return;
  await keepUnchained(tx, events);
  tx.context.hasKeptEvents = true;
}

/**
 * Chains the events that committed transactions have kept, in the order in which they were stored, also those of other
 * servers and of a process that ended before. Resolves with whether there may be more. Locks the head of the chain, and
 * so sees every event of an act that ended before.
 */
export async function chainKept(tx: Tx): Promise<boolean> {
  const head = await lockHead(tx);
  const kept = await takeUnchained(tx, CHAINED_AT_ONCE);
  if (kept.length > 0) await chain(tx, kept, head);
  return kept.length === CHAINED_AT_ONCE;
}

/** How each engine gives events their place: SQLite has one writer at a time, so nobody waits for the head of the chain. */
export const CHAINING = {
  sqlite: { beforeCommit: chainEvents },
  postgres: { beforeCommit: keepEvents, afterCommit: chainKept },
} satisfies Record<Database['engine'], CommitSteps>;

/**
 * The hash is SHA-256 over the RFC 8785 form of the row with the previous hash inside. Every writer locks the head of the
 * chain last, after all other locks.
 */
async function chain(
  tx: Tx,
  events: readonly UnchainedEvent[],
  head: { position: number; hash: string | null },
): Promise<void> {
  let { position, hash } = head;
  const chained: EventRow[] = [];
  for (const event of events) {
    const row = { position: position + 1, ...event, previous_hash: hash };
    hash = hashOfEvent(row);
    position = row.position;
    chained.push({ ...row, hash });
  }
  await insertEvents(tx, chained);
  if (hash !== null) await moveHead(tx, { position, hash });
}
