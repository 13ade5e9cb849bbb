import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { tmpDir } from '@tidegate/testkit/tmp';
import type { Runtime } from '../commands/runtime.ts';
import { type EcosystemDriver, type Scan, UNKNOWN_LISTS } from '../ecosystems/ecosystem.ts';
import { USUAL_PLACES } from '../ecosystems/host-places.ts';
import { loadConfig, openConfig, saveConfig } from '../identity/config-file.ts';
import { openInventory } from '../inventory/inventory.ts';
import { openPlans } from '../inventory/plans.ts';
import { openTagReport } from '../inventory/send-tags.ts';
import { watchTimeliness } from '../inventory/send-timeliness.ts';
import type { JobResult } from '../jobs/job-folder.ts';
import type { ExecutorAccess } from '../jobs/start-executor.ts';
import { openJournal } from '../journal/journal.ts';
import { createOutputFollower } from '../output/follow-outputs.ts';
import { sendOutput } from '../output/send-output.ts';
import type { Sleep } from '../platform/back-off.ts';
import { timestamp, trustedNow } from '../platform/clock.ts';
import { ownUid } from '../platform/file-layer.ts';
import { createLog } from '../platform/log.ts';
import { isHandedOver } from '../polling/start-runtime.ts';
import type { ProbeWatch } from '../probes/probe-watch.ts';
import type { RestartWatch } from '../restarts/restart-watch.ts';
import { watchFreshness } from '../session/freshness.ts';
import { createRenewer } from '../session/renew.ts';
import { createServerClient } from '../session/server-client.ts';
import { createSession } from '../session/session.ts';
import { openEventsHeadStore } from '../trust/events-head.ts';
import { configOf } from './agent-config.ts';
import { bytesOf, createFleet, NOW_MS, type TestFleet } from './fleet.ts';
import { type FleetServer, startFleetServer } from './fleet-server.ts';

/** The content of every artifact that the driver of these tests brings. */
export const ARTIFACT = bytesOf('demo 2.0');

/** A package manager without a host: it says what a test sets in it. */
export interface TestDriver extends EcosystemDriver {
  scanned: Scan;
  /** What `fetch` writes under every file name. */
  brings: Uint8Array;
  scans: number;
}

export interface TestAgent {
  fleet: TestFleet;
  server: FleetServer;
  driver: TestDriver;
  folder: string;
  logged: string[];
  /** What the host's own clock says. */
  localMs: number;
  /** What chance says. */
  random: () => number;
  /** In which boot the host is at the next start. */
  bootId: string;
  /** What the executor will say; null when it ends without a result. */
  executorSays: (commandId: string) => JobResult | null;
  /** How installations get root rights; a root agent's own way unless a test sets it. */
  executor: ExecutorAccess;
  /** How outputs wait; really unless a test sets it. */
  sleep: Sleep;
  /** Opens the folder as a new process does. */
  start(members?: Partial<Runtime>): Runtime;
  stop(): Promise<void>;
}

/** An enrolled agent and its server, both real but for package manager, executor and clock. */
export async function createAgent(): Promise<TestAgent> {
  const fleet = createFleet();
  const server = await startFleetServer(fleet);
  const folder = tmpDir();
  const driver = createDriver();
  saveConfig(folder.path, configOf(fleet, { server_url: server.url }));
  writeFileSync(join(folder.path, 'machine-id'), fleet.machineId);
  const agent: TestAgent = {
    fleet,
    server,
    driver,
    folder: folder.path,
    logged: [],
    localMs: NOW_MS,
    random: () => 0.5,
    bootId: 'boot',
    executorSays: () => null,
    executor: {
      ...{ how: 'unshare', program: '/bin/false' },
      ...{ spool: join(folder.path, 'spool'), state: join(folder.path, 'state') },
    },
    sleep: async (ms, signal) => void (await setTimeout(ms, undefined, { signal }).catch(() => {})),
    start: (members = {}) => ({ ...startRuntime(agent), ...members }),
    stop: async () => {
      await server.stop();
      folder.remove();
    },
  };
  return agent;
}

function startRuntime(agent: TestAgent): Runtime {
  const { fleet, server, driver, folder, logged } = agent;
  const loaded = loadConfig(folder);
  if (!loaded.ok) throw new Error(loaded.detail);
  const { executor } = agent;
  const opened = openJournal(folder, {
    ...{ nowMs: agent.localMs, bootId: agent.bootId },
    isHandedOver: (commandId) => isHandedOver(executor, commandId),
  });
  if (!opened.ok) throw new Error(opened.detail);
  const { journal } = opened;
  const config = openConfig(folder, loaded.config);
  const client = createServerClient({ baseUrl: server.url });
  const { machineId, machineSha256 } = fleet;
  const nowMs = () => trustedNow(agent.localMs, journal.serverTime());
  const elapsedMs = () => performance.now();
  const random = () => agent.random();
  const renewer = createRenewer({ config, client, machineId, elapsedMs });
  const session = createSession({ config, client, renewer, machineId, nowMs, elapsedMs, random });
  const log = createLog((line) => logged.push(line));
  const paths = USUAL_PLACES;
  const drivers = [driver];
  const localMs = () => agent.localMs;
  const inventory = openInventory({ folder, drivers, paths, allowed: null, nowMs, localMs, random, log });
  const state = join(folder, 'state');
  const outputs = createOutputFollower({
    ...{ folder, executorState: state, writerUid: ownUid(), sleep: agent.sleep, nowMs, random, log },
    send: (commandId, piece) => sendOutput({ config, session }, commandId, piece),
  });
  return {
    config,
    journal,
    inventory,
    plans: openPlans({ folder, drivers, inventory, log }),
    restarts: NOTHING_RUNS,
    tags: openTagReport(undefined),
    timeliness: watchTimeliness({ inventory, localMs, elapsedMs }),
    probes: NO_PROBES,
    session,
    client,
    eventsHead: openEventsHeadStore(folder),
    drivers,
    paths,
    machineSha256,
    executor,
    policy: { path: join(folder, 'policy.json'), ownerUid: ownUid(), top: folder },
    runExecutor: async (_, { commandId }) => agent.executorSays(commandId),
    awaitResult: async (_, { commandId }) => agent.executorSays(commandId),
    outputs,
    log,
    standingFaults: new Set(),
    freshness: watchFreshness(elapsedMs),
    nowMs,
    elapsedMs,
    random,
    bootId: agent.bootId,
    uptimeSeconds: () => 1,
    loadAverage: () => [],
    spareMemory: { collectGarbage: () => {}, releaseCode: () => {} },
    checkIns: { made: 0 },
    selfCheck: async () => [],
  };
}

/** A watch that has nothing to report. */
const NOTHING_RUNS: RestartWatch = {
  refresh: async () => {},
  refreshAfter: async () => {},
  follow: async () => {},
  report: () => null,
  unsent: () => null,
  sent: () => {},
};

const NO_PROBES: ProbeWatch = {
  look: async () => ({ at: timestamp(NOW_MS), probes: [] }),
  isDue: () => false,
  followUp: () => {},
  newlyDue: () => [],
  unsent: () => null,
  sent: () => {},
};

function createDriver(): TestDriver {
  const driver: TestDriver = {
    ecosystem: 'apt',
    scanned: {
      complete: true,
      reason: null,
      packages: [{ name: 'demo', version: '1.0' }],
      updates: [{ name: 'demo', current_version: '1.0', available_version: '2.0' }],
    },
    brings: ARTIFACT,
    fetchReplaced: async () => ({ files: [], reason: null }),
    scans: 0,
    present: async () => true,
    scan: async () => {
      driver.scans += 1;
      return driver.scanned;
    },
    plan: async (_, { updates }) => ({
      ok: true,
      plan: {
        resolved_at: new Date(NOW_MS).toISOString(),
        actions: updates.map(({ name, toVersion }) => ({ action: 'remove', name, to_version: toVersion })),
      },
    }),
    examineLists: async () => UNKNOWN_LISTS,
    withPlanning: (paths, _upcoming, work) => work((request) => driver.plan(paths, request)),
    fetch: async (_, { actions, directory }) => {
      for (const { artifact } of actions) {
        if (artifact !== undefined) writeFileSync(join(directory, artifact.filename), driver.brings);
      }
      return { ok: true };
    },
  };
  return driver;
}
