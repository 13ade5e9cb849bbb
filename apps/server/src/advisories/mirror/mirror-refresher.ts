import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type BackgroundWork, repeat } from '../../platform/repeat.ts';
import { reuseCostlyAnswer } from '../../platform/reuse-costly-answer.ts';
import { type MissingData, missingData, withoutMadeUp } from './coverage.ts';
import { byBase, fleetEcosystems } from './fleet-ecosystems.ts';
import {
  dueOf,
  type EcosystemState,
  type RefreshDeps,
  refreshEcosystem,
} from './loading/refresh-ecosystem.ts';
import { isUnderWay, readLoads } from './loading/store.ts';
import { isUsable } from './snapshot.ts';
import { readSnapshots } from './store.ts';

const TICK_MS = 30_000;
/** How long a new ecosystem of a large fleet may go unnoticed, unless a request needs it. */
const FLEET_REUSED_MAX_MS = 10 * 60_000;
/** Ecosystems requested before any host has reported them; further ones wait for the report. */
const NEEDED_MAX = 100;

/**
 * The worst state of what the fleet needs. `absent`: missing, and the last attempt to load it failed. `missing`: nothing
 * loads it, or the data has no advisory of it.
 */
export type MirrorHealth = 'ok' | 'loading' | 'stale' | 'missing' | 'absent';

export interface MirrorRefresher extends BackgroundWork {
  health(): MirrorHealth;
  /** Ecosystems of the fleet without data, as of the last round; those of a first load are not listed. */
  missing(): readonly string[];
  /** Loads an ecosystem that a request waits for at once, not at the next tick. */
  need(ecosystem: string): void;
  /** One round over everything that the fleet needs. */
  refresh(): Promise<void>;
  /** The data in use and the loads under way, for every ecosystem that the fleet needs. */
  states(): Promise<EcosystemState[]>;
}

export interface RefresherOptions extends Omit<RefreshDeps, 'isStopped' | 'exportClient'> {
  /** Null: nothing is fetched, data comes only from files. */
  readonly exportClient: RefreshDeps['exportClient'] | null;
  readonly tickMs?: number;
}

/** Keeps the mirror current in the background, for the fleet's ecosystems only. */
export function createMirrorRefresher(options: RefresherOptions): MirrorRefresher {
  const { platform, exportClient, maxAgeMs, folder, tickMs = TICK_MS } = options;
  const needed = new Set<string>();
  const closing = { isStopped: false };
  let health: MirrorHealth = 'loading';
  let missing: readonly string[] = [];
  let round: Promise<void> | null = null;
  let isAgain = false;

  /** Reads every host: over two seconds for 100,000 hosts on SQLite, in the loop that answers requests. */
  const fleetNow = reuseCostlyAnswer({
    read: () => fleetEcosystems(platform.database.read),
    now: platform.now,
    maxMs: FLEET_REUSED_MAX_MS,
  });

  async function states(): Promise<EcosystemState[]> {
    const db = platform.database.read;
    const [fleet, snapshots, loads] = [await fleetNow(), await readSnapshots(db), await readLoads(db)];
    for (const releases of fleet.values()) for (const one of releases) needed.delete(one);
    const wanted = byBase([...[...fleet.values()].flat(), ...needed]);
    return [...wanted].map(([base, releases]) => ({
      base,
      releases,
      snapshot: snapshots.get(base) ?? null,
      load: loads.get(base) ?? null,
    }));
  }

  async function work(): Promise<void> {
    do {
      isAgain = false;
      for (const state of await states()) {
        const due = dueOf(await withoutMadeUp(platform, state), platform.now());
        if (closing.isStopped) return;
        if (due === null || !exportClient) continue;
        await refreshEcosystem({ ...options, exportClient, isStopped: () => closing.isStopped }, state, due);
      }
    } while (isAgain && !closing.isStopped);
    await assess();
  }

  async function assess(): Promise<void> {
    const all = await states();
    const at = { nowMs: platform.now(), isFetching: exportClient !== null };
    const found = await missingData(platform.database.read, all, at);
    missing = found.filter(({ why }) => why !== 'loading').map(({ ecosystem }) => ecosystem);
    const isStale = all.some(({ snapshot }) => snapshot && !isUsable(snapshot, { ...at, maxAgeMs }));
    health = worstOf(found, { isStale });
  }

  /** One round at a time; a call during a round starts another one after it. */
  function refresh(): Promise<void> {
    isAgain = round !== null;
    round ??= work().finally(() => {
      round = null;
    });
    return round;
  }

  async function removeLeftovers(): Promise<void> {
    const loads = await readLoads(platform.database.read);
    const live = [...loads.values()].filter((load) => isUnderWay(load, platform.now()));
    const names = new Set(live.map(({ load_id: id }) => `${id}.zip`));
    for (const name of await readdir(folder).catch(() => [])) {
      if (/^\d+\.zip$/.test(name) && !names.has(name)) await rm(join(folder, name), { force: true });
    }
  }

  let isFirst = true;
  async function runOnce(): Promise<void> {
    try {
      if (isFirst) await removeLeftovers();
      isFirst = false;
      await refresh();
    } catch (error) {
      // The next tick tries again: an unavailable database must not end the process.
      if (!closing.isStopped)
        platform.log.error('the advisory mirror was not refreshed', { error: String(error) });
    }
  }
  const ticking = repeat({ intervalMs: tickMs, run: runOnce });

  return {
    refresh,
    states,
    health: () => health,
    missing: () => missing,
    need(ecosystem) {
      if (needed.has(ecosystem) || needed.size >= NEEDED_MAX || closing.isStopped) return;
      needed.add(ecosystem);
      // Before the first tick nothing is fetched: that tick will see the need.
      if (!isFirst) void runOnce();
    },
    start: ticking.start,
    async stop() {
      closing.isStopped = true;
      await exportClient?.close();
      await ticking.stop();
      await round;
    },
  };
}

function worstOf(found: readonly MissingData[], { isStale }: { isStale: boolean }): MirrorHealth {
  const reasons = new Set(found.map(({ why }) => why));
  if (reasons.has('load_failed')) return 'absent';
  if (reasons.has('not_loaded') || reasons.has('no_advisories')) return 'missing';
  if (reasons.has('loading')) return 'loading';
  return isStale ? 'stale' : 'ok';
}
