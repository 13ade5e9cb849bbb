import { type Background, createBackground, type Work } from '../background.ts';
import type { Database, Tx } from '../db/engine.ts';
import type { Log } from '../log.ts';
import type { Platform } from '../platform.ts';
import { repeat } from '../repeat.ts';
import {
  databaseTime,
  endLease,
  holdsLease,
  isLeaseFree,
  type Lease,
  renewLease,
  type SqlTime,
  takeLease,
} from './store.ts';

const NAME = 'background';
/** How long the work of a server that died waits for another one, at most. */
export const LEASE_MS = 10_000;
const RENEW_MS = 2_500;

/** Background work that one server at a time does. */
export interface WorkOfOne extends Work {
  /** Registers work, which is made anew with each lease: `platform` refuses the writes of a lease that was lost. */
  use(name: string, create: (platform: Platform) => Work): void;
}

export interface WorkOfOneOptions {
  /** Whether no other server can be on this database. Then the lease is not renewed. */
  isAlone: boolean;
  renewMs?: number;
  time?: () => SqlTime;
}

/** Thrown by a write whose lease another server has taken: nothing of it is written. */
class LeaseLost extends Error {
  override name = 'LeaseLost';
}

/**
 * Starts the registered work when this server gets the lease, and stops it when another one has taken it. What a server
 * that stood still goes on with meanwhile is refused at its next commit.
 */
export function createWorkOfOne(
  platform: Platform,
  { isAlone, renewMs = RENEW_MS, time = () => databaseTime(platform.database.engine) }: WorkOfOneOptions,
): WorkOfOne {
  const { database, log } = platform;
  const terms = () => ({ leaseMs: LEASE_MS, now: time() });
  const holder = platform.newId();
  const works: { name: string; create: (platform: Platform) => Work }[] = [];
  let held: { lease: Lease; running: Background } | null = null;

  async function take(): Promise<void> {
    if (!isAlone && !(await isLeaseFree(database.read, { name: NAME, ...terms() }))) return;
    const lease = await database.transact((tx) => takeLease(tx, { name: NAME, holder, isAlone, ...terms() }));
    if (lease === null) return;
    const running = createBackground(log);
    const fenced = fencedPlatform(platform, lease);
    for (const { name, create } of works) running.use(name, create(fenced));
    held = { lease, running };
    running.start();
    log.info('background work begins on this server', { epoch: lease.epoch });
  }

  async function keep({ lease, running }: NonNullable<typeof held>): Promise<void> {
    if (isAlone || (await database.transact((tx) => renewLease(tx, { lease, ...terms() })))) return;
    log.warn('another server does the background work now', { epoch: lease.epoch });
    held = null;
    await running.stop();
  }

  const ticks = repeat({
    intervalMs: renewMs,
    async run() {
      try {
        await (held === null ? take() : keep(held));
      } catch (error) {
        // An unavailable database must not end the process. What runs goes on: its writes check the lease.
        log.warn('the lease of the background work was not renewed', { error: String(error) });
      }
    },
  });

  return {
    use: (name, create) => void works.push({ name, create }),
    start: ticks.start,
    async stop() {
      await ticks.stop();
      if (held === null) return;
      const { lease, running } = held;
      held = null;
      await running.stop();
      try {
        if (!isAlone) await database.transact((tx) => endLease(tx, lease));
      } catch (error) {
        log.warn('the lease of the background work was not given back', { error: String(error) });
      }
    },
  };
}

/** The same world; each transaction checks the lease before its commit. */
function fencedPlatform(platform: Platform, lease: Lease): Platform {
  const { database, log } = platform;
  const { engine } = database;
  let isLost = false;
  const transact: Database['transact'] = (work) =>
    database.transact(async (tx: Tx) => {
      const result = await work(tx);
      // Last, so that it is held for the commit alone.
      if (await holdsLease(tx, { lease, engine })) return result;
      isLost = true;
      throw new LeaseLost('another server does the background work now: this write was refused');
    });
  // Work that was refused ends as it should: its report of a failure is no error.
  const error: Log['error'] = (message, fields) => (isLost ? log.warn : log.error)(message, fields);
  return { ...platform, database: { ...database, transact }, log: { ...log, error } };
}
