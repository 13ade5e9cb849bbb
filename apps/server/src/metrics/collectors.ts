import { setImmediate as turn } from 'node:timers/promises';
import { SECURITY_EVENT_TYPES, SYSTEM_EVENT_TYPES } from '@tidegate/protocol/event-types';
import { ADVISORY_CHECKS, type AdvisoryCheck } from '@tidegate/protocol/health-api';
import { newestCheckpoint, readHead } from '../events/store.ts';
import { ALL, BUDGETS, type Budget, dayOf } from '../outsiders/budget-rules.ts';
import { readUsage } from '../outsiders/store.ts';
import type { Snapshots } from '../overview/keep-snapshots.ts';
import type { Snapshot } from '../overview/take-snapshot.ts';
import { ping } from '../platform/db/ping.ts';
import type { ConnectionCounts } from '../platform/http/open-connections.ts';
import { type Counted, type Fresh, keepFresh } from '../platform/keep-fresh.ts';
import type { Platform } from '../platform/platform.ts';
import { readLastBackup } from '../restore/last-backup-store.ts';
import type { Collector, Sample } from './scrape.ts';
import {
  advisoryTimes,
  countCommands,
  countEventsAfter,
  countRebootsDue,
  countWaiting,
  databaseBytes,
  feedTimes,
  followerFacts,
  oldestUndeliveredMs,
  oldestWaitingMs,
} from './store.ts';

/** Older counts are not reported as current, in milliseconds: they are counted anew, or the collector fails. */
const COUNTS_MAX_AGE_MS = 60_000;

export interface Collected {
  platform: Pick<Platform, 'database' | 'now' | 'log'>;
  snapshots: Pick<Snapshots, 'of' | 'count'>;
  advisories: () => AdvisoryCheck;
  connections: () => ConnectionCounts;
  /** The processes beside this one that answer requests too; null: there are none. */
  workers: WorkerCounts | null;
  /** Position of the newest event at the start. */
  eventsHead: number;
}

export interface WorkerCounts {
  readonly count: number;
  restarts(): number;
  facts(): ReadonlyMap<
    number,
    {
      readonly connections: ConnectionCounts;
      readonly cpuSeconds: number;
      readonly residentBytes: number;
    }
  >;
}

/** The parts of a scrape. Those that read many rows share their counts with the console, or are counted rarely. */
export function createCollectors(deps: Collected) {
  const waiting = keepFresh(deps.platform, {
    take: () => takeWaiting(deps.platform),
    failure: 'waiting updates were not counted for metrics',
  });
  const collectors: readonly Collector[] = [
    fleet(deps),
    updates(deps, waiting),
    queues(deps),
    advisories(deps),
    events(deps),
    outsiders(deps),
    database(deps),
    connections(deps),
    ...(deps.workers === null ? [] : [workers(deps.platform, deps.workers)]),
  ];
  return { collectors, stop: waiting.stop };
}

function fleet({ platform, snapshots }: Collected): Collector {
  const fresh = { get: () => snapshots.of(null), count: snapshots.count };
  return {
    name: 'fleet',
    async collect() {
      const snapshot = await current(fresh, platform.now);
      const { asOfMs, hosts, current: upToDate, small, blocked } = snapshot;
      const active = hosts.bound + hosts.unbound;
      const states = {
        ...{ online: hosts.online, offline: hosts.offline, revoked: hosts.revoked },
        unseen: active - hosts.online - hosts.offline,
      };
      const samples: Sample[] = [
        ...each('tidegate_hosts', 'state', Object.entries(states)),
        { metric: 'tidegate_hosts_unbound', value: hosts.unbound },
        { metric: 'tidegate_hosts_up_to_date', value: upToDate.hosts },
        { metric: 'tidegate_clone_suspicions', value: small.clones },
        { metric: 'tidegate_divergences_open', value: small.divergences },
        { metric: 'tidegate_updates_stopped', value: blocked },
        ...openUpdates(snapshot),
      ];
      return { asOfMs, samples };
    },
  };
}

function openUpdates({ updates: groups }: Snapshot): Sample[] {
  const byLabels = new Map<string, { state: string; verdict: string; updates: number }>();
  let exploited = 0;
  for (const { state, verdict: judged, knownExploited, updates } of groups) {
    const verdict = judged ?? 'not_judged';
    const known = byLabels.get(`${state} ${verdict}`);
    byLabels.set(`${state} ${verdict}`, { state, verdict, updates: updates + (known?.updates ?? 0) });
    if (state === 'pending' && knownExploited) exploited += updates;
  }
  return [
    ...[...byLabels.values()].map(
      ({ state, verdict, updates: value }): Sample => ({
        metric: 'tidegate_updates',
        labels: { state, verdict },
        value,
      }),
    ),
    { metric: 'tidegate_updates_exploited', value: exploited },
  ];
}

interface Waiting extends Counted {
  readonly samples: readonly Sample[];
}

function updates({ platform }: Collected, waiting: Fresh<Waiting>): Collector {
  return { name: 'updates', collect: () => current(waiting, platform.now) };
}

async function takeWaiting({ database, now }: Pick<Platform, 'database' | 'now'>): Promise<Waiting> {
  const asOfMs = now();
  const tally = new Map<string, { ecosystem: string; severity: string; updates: number }>();
  for await (const groups of countWaiting(database.read)) {
    for (const { ecosystem, severity, updates } of groups) {
      const key = `${ecosystem} ${severity}`;
      tally.set(key, { ecosystem, severity, updates: updates + (tally.get(key)?.updates ?? 0) });
    }
    await turn();
  }
  const samples = [...tally.values()].map(
    ({ ecosystem, severity, updates: value }): Sample => ({
      metric: 'tidegate_updates_waiting',
      labels: { ecosystem, severity },
      value,
    }),
  );
  const reboots = await countRebootsDue(database.read);
  return { asOfMs, samples: [...samples, { metric: 'tidegate_hosts_reboot_due', value: reboots }] };
}

function queues({ platform: { database, now } }: Collected): Collector {
  return collector('queues', now, async (nowMs) => [
    ...each('tidegate_commands', 'state', await countCommands(database.read)),
    ...age('tidegate_oldest_waiting_update_age_seconds', nowMs, await oldestWaitingMs(database.read)),
    ...age(
      'tidegate_oldest_undelivered_command_age_seconds',
      nowMs,
      await oldestUndeliveredMs(database.read, nowMs),
    ),
  ]);
}

function advisories({ platform: { database, now }, advisories: state }: Collected): Collector {
  return collector('advisories', now, async (nowMs) => [
    ...each(
      'tidegate_advisories_state',
      'state',
      ADVISORY_CHECKS.map((check) => [check, check === state() ? 1 : 0]),
    ),
    ...(await advisoryTimes(database.read)).flatMap(({ ecosystem, asOfMs }) =>
      age('tidegate_advisories_age_seconds', nowMs, asOfMs, { ecosystem }),
    ),
    ...(await feedTimes(database.read)).flatMap(({ feed, fetchedAtMs, asOfMs }) => [
      ...age('tidegate_exploited_feed_age_seconds', nowMs, fetchedAtMs, { feed }),
      ...age('tidegate_exploited_feed_content_age_seconds', nowMs, asOfMs, { feed }),
    ]),
  ]);
}

function events({ platform: { database, now }, eventsHead }: Collected): Collector {
  // From 0, because Prometheus sees no increase in a series that begins with its first event.
  const totals = new Map<string, number>(
    [...SECURITY_EVENT_TYPES, ...SYSTEM_EVENT_TYPES].map((type) => [type, 0]),
  );
  let counted = eventsHead;
  return collector('events', now, async (nowMs) => {
    const head = (await readHead(database.read))?.position ?? 0;
    const checkpoint = await newestCheckpoint(database.read);
    // The log of a restored backup may end before what was counted.
    const found = await countEventsAfter(database.read, Math.min(counted, head), head);
    counted = found.until;
    for (const { type, total } of found.types) totals.set(type, total + (totals.get(type) ?? 0));
    const followers = await followerFacts(database.read);
    return [
      ...each('tidegate_events_total', 'type', totals),
      { metric: 'tidegate_event_chain_length', value: head },
      { metric: 'tidegate_event_chain_unsigned', value: Math.max(0, head - (checkpoint?.position ?? 0)) },
      ...age('tidegate_event_checkpoint_age_seconds', nowMs, checkpoint?.created_at ?? null),
      ...each(
        'tidegate_event_follower_lag',
        'follower',
        followers.map(({ name, position }) => [name, Math.max(0, head - position)]),
      ),
      ...followers.flatMap(({ name: follower, nextAtMs }) =>
        age('tidegate_event_follower_lag_seconds', nowMs, nextAtMs ?? nowMs, { follower }),
      ),
    ];
  });
}

function outsiders({ platform: { database, now } }: Collected): Collector {
  return collector('outsiders', now, async (nowMs) => {
    const samples: Sample[] = [];
    for (const [kind, budget] of Object.entries<Budget>(BUDGETS)) {
      if (!budget.all) continue;
      const used = await readUsage(database.read, { kind, subject: ALL, day: dayOf(nowMs) });
      const value = used ? Math.max(used.rows / budget.all.rows, used.bytes / budget.all.bytes) : 0;
      samples.push({ metric: 'tidegate_outsider_budget_used_ratio', labels: { kind }, value });
    }
    return samples;
  });
}

function database({ platform: { database, now } }: Collected): Collector {
  return collector('database', now, async () => {
    const startMs = performance.now();
    await ping(database.read);
    const pingSeconds = (performance.now() - startMs) / 1_000;
    return [
      { metric: 'tidegate_database_ping_seconds', value: pingSeconds },
      { metric: 'tidegate_database_size_bytes', value: await databaseBytes(database) },
      {
        metric: 'tidegate_last_backup_timestamp_seconds',
        value: ((await readLastBackup(database.read))?.taken_at ?? 0) / 1_000,
      },
      { metric: 'tidegate_database_write_faults_total', value: database.writeFaults() },
      ...database.pools().flatMap(({ pool, ...uses }) =>
        Object.entries(uses).map(
          ([use, value]): Sample => ({
            metric: 'tidegate_database_connections',
            labels: { pool, use },
            value,
          }),
        ),
      ),
    ];
  });
}

function connections({ platform: { now }, connections: counts, workers }: Collected): Collector {
  return collector('connections', now, async () => {
    const ofWorkers = [...(workers?.facts().values() ?? [])].map((facts) => facts.connections);
    const { open, waiting, max, ended } = ofWorkers.reduce(sumOf, counts());
    return [
      ...each('tidegate_connections', 'state', Object.entries({ busy: open - waiting, waiting })),
      ...(max === null ? [] : [{ metric: 'tidegate_connections_max', value: max } as const]),
      ...each('tidegate_connections_ended_total', 'state', Object.entries(ended)),
    ];
  });
}

function sumOf(one: ConnectionCounts, other: ConnectionCounts): ConnectionCounts {
  return {
    open: one.open + other.open,
    waiting: one.waiting + other.waiting,
    max: one.max === null || other.max === null ? null : one.max + other.max,
    ended: {
      answered: one.ended.answered + other.ended.answered,
      waiting: one.ended.waiting + other.ended.waiting,
    },
  };
}

/** What this process has, `process_…` tells; a worker that has not reported yet is missing. */
function workers({ now }: Collected['platform'], { count, restarts, facts }: WorkerCounts): Collector {
  return collector('workers', now, async () => [
    { metric: 'tidegate_workers', value: count },
    { metric: 'tidegate_worker_restarts_total', value: restarts() },
    ...[...facts()].flatMap(([number, { cpuSeconds, residentBytes }]): Sample[] => {
      const labels = { worker: String(number) };
      return [
        { metric: 'tidegate_worker_cpu_seconds_total', labels, value: cpuSeconds },
        { metric: 'tidegate_worker_resident_memory_bytes', labels, value: residentBytes },
      ];
    }),
  ]);
}

/** A collector that reads anew at each scrape. */
function collector(
  name: string,
  now: () => number,
  samplesAt: (nowMs: number) => Promise<readonly Sample[]>,
): Collector {
  return {
    name,
    async collect() {
      const asOfMs = now();
      return { asOfMs, samples: await samplesAt(asOfMs) };
    },
  };
}

/** Recent counts; where they cannot be counted anew, the fault instead of old ones. */
async function current<T extends Counted>(
  fresh: Pick<Fresh<T>, 'get' | 'count'>,
  now: () => number,
): Promise<T> {
  const counted = await fresh.get();
  return Math.abs(now() - counted.asOfMs) < COUNTS_MAX_AGE_MS ? counted : fresh.count();
}

function each(
  metric: Sample['metric'],
  label: string,
  values: Iterable<readonly [name: string, value: number]>,
): Sample[] {
  return [...values].map(([name, value]) => ({ metric, labels: { [label]: name }, value }));
}

/** Nothing where there is no instant. */
function age(
  metric: Sample['metric'],
  nowMs: number,
  atMs: number | null,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  return atMs === null ? [] : [{ metric, labels, value: Math.max(0, nowMs - atMs) / 1_000 }];
}
