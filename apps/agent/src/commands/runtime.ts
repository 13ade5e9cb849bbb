import type { EcosystemDriver, HostPaths } from '../ecosystems/ecosystem.ts';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import type { ConfigFile } from '../identity/config-file.ts';
import type { Inventory } from '../inventory/inventory.ts';
import type { Plans } from '../inventory/plans.ts';
import type { TagReport } from '../inventory/send-tags.ts';
import type { Timeliness } from '../inventory/send-timeliness.ts';
import type { Executor, ExecutorAccess, JobOutcome, StartedJob } from '../jobs/start-executor.ts';
import type { Journal } from '../journal/journal.ts';
import type { OutputFollower } from '../output/follow-outputs.ts';
import type { Log } from '../platform/log.ts';
import type { SpareMemory } from '../platform/spare-memory.ts';
import type { ProbeWatch } from '../probes/probe-watch.ts';
import type { RestartWatch } from '../restarts/restart-watch.ts';
import type { Freshness } from '../session/freshness.ts';
import type { ServerClient } from '../session/server-client.ts';
import type { Session } from '../session/session.ts';
import type { EventsHeadStore } from '../trust/events-head.ts';

/** Everything a running agent holds; built once at start, and by tests from their own parts. */
export interface Runtime {
  config: ConfigFile;
  journal: Journal;
  eventsHead: EventsHeadStore;
  inventory: Inventory;
  plans: Plans;
  restarts: RestartWatch;
  tags: TagReport;
  timeliness: Timeliness;
  probes: ProbeWatch;
  session: Session;
  /** For what needs no token (E8). */
  client: ServerClient;
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
  machineSha256: string;
  executor: ExecutorAccess;
  policy: PolicyPlace;
  runExecutor: (access: Executor, job: StartedJob, stopping: AbortSignal) => Promise<JobOutcome>;
  /** Waits for a job that an earlier process has handed over. */
  awaitResult: (access: Executor, job: StartedJob, stopping: AbortSignal) => Promise<JobOutcome>;
  outputs: OutputFollower;
  log: Log;
  /** Reported faults that persist: each is one event, however often it recurs. */
  standingFaults: Set<string>;
  freshness: Freshness;
  /** Never behind the last signed server time (T16). */
  nowMs: () => number;
  elapsedMs: () => number;
  random: () => number;
  bootId: string;
  uptimeSeconds: () => number;
  loadAverage: () => number[];
  spareMemory: SpareMemory;
  /** How often this process has checked in. */
  checkIns: { made: number };
  /** The checks of `doctor` that this agent fails, of those that it cannot work without. */
  selfCheck: () => Promise<string[]>;
}
