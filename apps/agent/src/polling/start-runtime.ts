import { randomInt } from 'node:crypto';
import { loadavg, uptime } from 'node:os';
import { join } from 'node:path';
import type { Runtime } from '../commands/runtime.ts';
import type { EcosystemDriver, HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths, ownPlaces } from '../ecosystems/host-places.ts';
import { KEPT_FOLDER } from '../ecosystems/kept-files.ts';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { type AgentConfig, CONFIG_NAME, openConfig } from '../identity/config-file.ts';
import { readMachineId } from '../identity/machine-id.ts';
import { openInventory } from '../inventory/inventory.ts';
import { openPlans } from '../inventory/plans.ts';
import { openTagReport } from '../inventory/send-tags.ts';
import { watchTimeliness } from '../inventory/send-timeliness.ts';
import { DEFAULT_EXECUTOR_STATE, isMarkedReady, readResult } from '../jobs/job-folder.ts';
import {
  awaitResult,
  chooseExecutor,
  EXECUTOR_UID,
  type ExecutorAccess,
  lookFileOf,
  readHostFacts,
  runExecutor,
} from '../jobs/start-executor.ts';
import { detectMachineChange } from '../journal/detect-machine-change.ts';
import { openJournal } from '../journal/journal.ts';
import { JOURNAL_NAME } from '../journal/journal-state.ts';
import { createOutputFollower } from '../output/follow-outputs.ts';
import { sendOutput } from '../output/send-output.ts';
import type { Sleep } from '../platform/back-off.ts';
import { readBootId } from '../platform/boot-id.ts';
import { trustedNow } from '../platform/clock.ts';
import { removeTemporaries } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import type { SpareMemory } from '../platform/spare-memory.ts';
import { hasUnit } from '../platform/systemd-unit.ts';
import { lookAsRoot } from '../probes/look.ts';
import { FAILED_BEFORE_NAME } from '../probes/look-file.ts';
import {
  PROBE_REQUEST_NAME,
  type ProbeWatch,
  type ProbeWatchOptions,
  watchProbes,
} from '../probes/probe-watch.ts';
import { SYSTEMCTL } from '../probes/units.ts';
import { observe } from '../restarts/observe.ts';
import { type RestartWatch, watchRestarts } from '../restarts/restart-watch.ts';
import { DEFAULT_SERVICE_FILE, OWN_SERVICE_FILE } from '../restarts/service-file.ts';
import { watchFreshness } from '../session/freshness.ts';
import { createRenewer } from '../session/renew.ts';
import { checkServerUrl, createServerClient } from '../session/server-client.ts';
import { createSession } from '../session/session.ts';
import { openEventsHeadStore } from '../trust/events-head.ts';

const RANDOM_STEPS = 2 ** 32;

export type StartedRuntime = { ok: true; runtime: Runtime } | { ok: false; detail: string };

/** Builds a running agent from its configuration. The caller holds the instance lock of the folder. */
export function startRuntime(
  folder: string,
  loaded: AgentConfig,
  parts: {
    drivers: readonly EcosystemDriver[];
    log: Log;
    spareMemory: SpareMemory;
    policy: PolicyPlace;
    serverCa: string | null;
    sleep: Sleep;
    /** `/` except in tests. */
    hostRoot: string;
    selfCheck: Runtime['selfCheck'];
  },
): StartedRuntime {
  const { log, drivers, spareMemory, policy, serverCa, sleep, hostRoot, selfCheck } = parts;
  const url = checkServerUrl(loaded.server_url, loaded.allow_insecure_http);
  if (!url.ok) return url;
  const machine = readMachineId(loaded.machine_id_source);
  if (!machine.ok) return machine;
  const executor = chooseExecutor(readHostFacts(), loaded.paths ?? {});
  const bootId = readBootId(hostRoot);
  const opened = openJournal(folder, {
    ...{ nowMs: Date.now(), floor: loaded.highest_seq, bootId },
    isHandedOver: (commandId) => isHandedOver(executor, commandId),
  });
  if (!opened.ok) return opened;
  const { journal } = opened;
  const noted = detectMachineChange(journal, { sha256: machine.sha256, nowMs: Date.now() });
  if (!noted.ok) return noted;
  const config = openConfig(folder, loaded);
  // R2: removes temporary files with tokens left by an interrupted write.
  for (const name of [CONFIG_NAME, JOURNAL_NAME]) removeTemporaries(join(folder, name));
  const nowMs = () => trustedNow(Date.now(), journal.serverTime());
  const elapsedMs = () => performance.now();
  const random = () => randomInt(RANDOM_STEPS) / RANDOM_STEPS;
  const client = createServerClient({ baseUrl: url.url, ca: serverCa });
  const renewer = createRenewer({ config, client, machineId: machine.machineId, elapsedMs });
  const session = createSession({
    config,
    client,
    renewer,
    machineId: machine.machineId,
    nowMs,
    elapsedMs,
    random,
  });
  const paths = {
    ...hostPaths(loaded.paths, join(folder, KEPT_FOLDER)),
    own: ownPlaces(loaded.paths, {
      executorState: loaded.paths?.executor_state ?? DEFAULT_EXECUTOR_STATE,
      ...{ ownerUid: EXECUTOR_UID, server: { url: url.url, ca: serverCa } },
    }),
  };
  const allowed = loaded.ecosystems;
  const localMs = Date.now;
  const inventory = openInventory({ folder, drivers, paths, allowed, nowMs, localMs, random, log });
  const outputs = createOutputFollower({
    folder,
    executorState: executor.how === 'none' ? null : executor.state,
    writerUid: EXECUTOR_UID,
    send: (commandId, piece) => sendOutput({ config, session }, commandId, piece),
    ...{ sleep, nowMs, random, log },
  });
  const runtime: Runtime = {
    config,
    journal,
    eventsHead: openEventsHeadStore(folder),
    inventory,
    plans: openPlans({ folder, drivers, inventory, log }),
    restarts: watchRestartsOf(executor, { paths, bootId, log }),
    tags: openTagReport(loaded.tags),
    timeliness: watchTimeliness({ inventory, localMs, elapsedMs }),
    probes: watchProbesOf(executor, { folder, policy, nowMs, elapsedMs, log }),
    session,
    client,
    drivers,
    paths,
    machineSha256: machine.sha256,
    executor,
    policy,
    runExecutor: (access, job, stopping) =>
      runExecutor(access, { ...job, policyPath: policy.path, hostRoot }, stopping),
    awaitResult,
    outputs,
    log,
    standingFaults: new Set(),
    freshness: watchFreshness(elapsedMs),
    nowMs,
    elapsedMs,
    random,
    bootId,
    uptimeSeconds: () => Math.floor(uptime()),
    loadAverage: () => (process.platform === 'win32' ? [] : loadavg()),
    spareMemory,
    checkIns: { made: 0 },
    selfCheck,
  };
  return { ok: true, runtime };
}

/** An installation may restart the agent, as one of the agent's own package does: the executor goes on. */
export function isHandedOver(executor: ExecutorAccess, commandId: string): boolean {
  if (executor.how === 'none') return false;
  const isOpen = isMarkedReady(join(executor.spool, commandId));
  return isOpen || readResult(executor.state, commandId, EXECUTOR_UID) !== null;
}

/** Where root's observer has a unit of its own, its report is read; an agent that is root looks by itself. */
function watchRestartsOf(
  executor: ExecutorAccess,
  { paths, bootId, log }: { paths: HostPaths; bootId: string; log: Log },
): RestartWatch {
  const isOwn = executor.how === 'unshare';
  const serviceFile = isOwn ? join(executor.state, OWN_SERVICE_FILE) : DEFAULT_SERVICE_FILE;
  const look = () => {
    const elapsedMs = () => performance.now();
    const seen = observe({ out: serviceFile, proc: '/proc', bootId, nowMs: Date.now(), elapsedMs });
    if (!seen.ok) log.warn('the services cannot be looked at', { reason: seen.detail });
  };
  return watchRestarts({
    ...{ paths, serviceFile, bootId, writerUid: EXECUTOR_UID, root: '/', observe: isOwn ? look : null },
    // The clock of the files that it compares.
    nowMs: Date.now,
  });
}

/** Where there is a unit for it, root's probes run there; an agent that is root runs them by itself. */
function watchProbesOf(
  executor: ExecutorAccess,
  means: { folder: string; policy: PolicyPlace; nowMs: () => number; elapsedMs: () => number; log: Log },
): ProbeWatch {
  const { folder, policy, nowMs, elapsedMs, log } = means;
  const lookFile = lookFileOf(executor);
  const look = async (state: string) => {
    const places = { out: lookFile, failedBefore: join(state, FAILED_BEFORE_NAME), writerUid: EXECUTOR_UID };
    const looked = await lookAsRoot({ policy, ...places, systemctl: SYSTEMCTL, nowMs: Date.now, elapsedMs });
    if (!looked.ok) log.warn('the probes cannot be run', { reason: looked.detail });
  };
  return watchProbes({
    ...{ policy, lookFile, writerUid: EXECUTOR_UID, nowMs, localMs: Date.now, elapsedMs },
    runs: whoRuns(executor, { requestFile: join(folder, PROBE_REQUEST_NAME), look }),
  });
}

function whoRuns(
  executor: ExecutorAccess,
  { requestFile, look }: { requestFile: string; look: (state: string) => Promise<void> },
): ProbeWatchOptions['runs'] {
  switch (executor.how) {
    case 'systemd':
      return { by: 'unit', requestFile, isInstalled: () => hasUnit('tidegate-probe.path') };
    case 'unshare':
      return { by: 'self', look: () => look(executor.state) };
    case 'none':
      return null;
  }
}
