import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { appendEvent } from './append-event.ts';
import { addFollower, type Follower, moveFollower, readFollower } from './followers-store.ts';
import { type EventRow, newestAnchor, oldestEvent, pageOfEvents, readHead } from './store.ts';

type World = Pick<Platform, 'database' | 'newId' | 'now'>;

export interface Following {
  /** Of the follower, unique on this server. */
  name: string;
  /** Where a new follower begins: at the oldest event that the log still has, or after the newest. */
  begin: 'oldest' | 'newest';
}

/** The next events of a follower, in the order of the log; empty where there are none. */
export interface Followed {
  events: readonly EventRow[];
  /** For `passEvents`, once all of these events are dealt with. */
  passed: Passed;
}

export interface Passed {
  name: string;
  from: number;
  to: number;
}

/**
 * Reads the events after a follower's position. Positions follow the order of commits and have no gaps, so none is
 * missed. Nothing moves until `passEvents`: after a crash the same events are read again, and each is seen at least
 * once. Of two servers on one database both see an event, unless they lease the follower.
 */
export async function nextEvents(world: World, how: Following & { limit: number }): Promise<Followed> {
  const { read } = world.database;
  const follower = (await readFollower(read, how.name)) ?? (await begin(world, how));
  const { name, position: from } = follower;
  const events = await pageOfEvents(read, { after: from, until: null, limit: how.limit });
  const first = events.at(0)?.position ?? null;
  const isAtEnd = first === null && from <= ((await readHead(read))?.position ?? 0);
  if (isAtEnd || first === from + 1) {
    return { events, passed: { name, from, to: events.at(-1)?.position ?? from } };
  }
  await passMissing(world, follower);
  return nextEvents(world, how);
}

/** Moves the follower past the events. False if another server has moved it: its position stays. */
export async function passEvents(
  tx: Tx,
  { now }: Pick<Platform, 'now'>,
  { name, from, to }: Passed,
): Promise<boolean> {
  return from === to || moveFollower(tx, { name, from, to, nowMs: now() });
}

/** Moves the follower past events that it will never deal with, and records how many. */
export async function passOver(tx: Tx, world: World, { name, from, to }: Passed): Promise<void> {
  if (!(await moveFollower(tx, { name, from, to, nowMs: world.now() }))) return;
  await appendEvent(tx, world, {
    kind: 'system',
    type: 'events_missed',
    severity: 'warning',
    component: 'events',
    actor: 'server',
    content: { follower: name, position: from, continues_after: to, missed: Math.max(0, to - from) },
  });
}

async function begin({ database, now }: World, { name, begin }: Following): Promise<Follower> {
  const { read } = database;
  const last = await (begin === 'newest' ? readHead(read) : newestAnchor(read));
  const follower = { name, position: last?.position ?? 0, moved_at: now(), leased_until: 0 };
  await database.transact((tx) => addFollower(tx, follower));
  return (await readFollower(read, name)) ?? follower;
}

/**
 * Moves the follower to the oldest event where those after its position were pruned, and records how many it missed. A
 * position past the end is not of this log, or was written by somebody else: the follower begins again.
 */
async function passMissing(world: World, { name, position: from }: Follower): Promise<void> {
  const oldest = await oldestEvent(world.database.read);
  const to = (oldest?.position ?? 1) - 1;
  await world.database.transact((tx) => passOver(tx, world, { name, from, to }));
}
