import { setImmediate as turn } from 'node:timers/promises';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { countCriticalFixes } from './critical-fixes-store.ts';
import { type CurrentHosts, countCurrent } from './current-store.ts';
import {
  addHosts,
  blockedUpdates,
  countEventsSince,
  countHosts,
  type HostCounts,
  NO_HOSTS,
  type ServiceFacts,
  type SmallCounts,
  serviceFacts,
  smallCounts,
} from './fleet-store.ts';
import {
  closedUpdatesSince,
  HOUR_MS,
  openUpdates,
  openUpdatesOf,
  type UpdateGroup,
} from './update-counts-store.ts';

/** Events that the overview counts. */
export const COUNTED_EVENTS = [
  'update_installed',
  'update_failed',
  'update_approved',
  'AGENT_ENROLLED',
  'MACHINE_ID_MISMATCH',
  'REFRESH_TOKEN_REUSE',
] as const;

/** All counts of the overview at one moment. */
export interface Snapshot {
  readonly asOfMs: number;
  readonly scope: GroupScope;
  readonly hosts: HostCounts;
  readonly updates: readonly UpdateGroup[];
  readonly blocked: number;
  readonly criticalFixes: number;
  readonly small: SmallCounts;
  readonly current: CurrentHosts;
  /** Start of an hour, at least 24 hours ago. */
  readonly sinceMs: number;
  readonly events: ReadonlyMap<string, number>;
  readonly newUpdates: number;
  readonly service: ServiceFacts;
}

/** Counts in parts, with a turn of the event loop between them for other requests. */
export async function takeSnapshot(
  platform: Pick<Platform, 'database' | 'now'>,
  scope: GroupScope,
): Promise<Snapshot> {
  const db = platform.database.read;
  const nowMs = platform.now();
  const sinceMs = Math.floor((nowMs - 86_400_000) / HOUR_MS) * HOUR_MS;
  const updates = createTally();
  if (scope === null) {
    for await (const groups of inTurns(openUpdates(db))) updates.add(groups, 1);
    for await (const groups of inTurns(openUpdatesOf(db, 'deleted'))) updates.add(groups, -1);
  } else {
    for await (const groups of inTurns(openUpdatesOf(db, { scope }))) updates.add(groups, 1);
  }
  let hosts = NO_HOSTS;
  for await (const some of inTurns(countHosts(db, { nowMs, scope }))) hosts = addHosts(hosts, some);
  let blocked = 0;
  for await (const some of inTurns(blockedUpdates(db, scope))) blocked += some;
  let criticalFixes = 0;
  for await (const some of inTurns(countCriticalFixes(db, { scope }))) criticalFixes += some;
  const current = await countCurrent(db, { nowMs, scope, turn });
  const groups = updates.groups();
  const openSince = groups.filter(({ hour }) => hour * HOUR_MS >= sinceMs);
  return {
    ...{ asOfMs: nowMs, scope, hosts, updates: groups, blocked, criticalFixes, current, sinceMs },
    small: await smallCounts(db, { nowMs, scope }),
    events: await countEventsSince(db, { types: COUNTED_EVENTS, sinceMs, scope }),
    newUpdates: totalOf(openSince) + (await closedUpdatesSince(db, { sinceMs, scope })),
    service: await serviceFacts(db, nowMs),
  };
}

export function totalOf(groups: readonly UpdateGroup[]): number {
  return groups.reduce((sum, { updates }) => sum + updates, 0);
}

async function* inTurns<T>(parts: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const part of parts) {
    yield part;
    await turn();
  }
}

/** Adds up groups that share the same fields. */
function createTally() {
  const tally = new Map<string, UpdateGroup>();
  return {
    add(groups: readonly UpdateGroup[], sign: 1 | -1): void {
      for (const group of groups) {
        const { state, verdict, stoppedUnder, knownExploited, exposed, security, hour, updates } = group;
        const key = `${state} ${verdict} ${stoppedUnder} ${knownExploited} ${exposed} ${security} ${hour}`;
        const before = tally.get(key)?.updates ?? 0;
        tally.set(key, { ...group, updates: before + sign * updates });
      }
    },
    // A row that changed state between two parts must not make a count negative.
    groups: () => [...tally.values()].filter(({ updates }) => updates > 0),
  };
}
