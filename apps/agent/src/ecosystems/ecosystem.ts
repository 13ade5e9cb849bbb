import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { PackageCondition } from '@tidegate/protocol/package-condition';
import type { Plan, PlanAction } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { HostTrouble } from './host-trouble.ts';
import type { KeptVersion } from './kept-files.ts';

/** The package managers' locations on this host and the registries they use. */
export interface HostPaths {
  /** An apt.conf for a throw-away host, named in the agent's own config file; null on a real host. */
  aptConfig: string | null;
  /** Install root of a throw-away dnf host; null on a real host. */
  dnfRoot: string | null;
  npm: {
    /** Prefix of the global packages; null for npm's own. */
    prefix: string | null;
    /** Project folders that the administrator named. */
    projects: readonly string[];
    /** Null for the public registry. */
    registry: string | null;
  };
  pypi: {
    /** Virtual environments that the administrator named, in addition to those found. */
    environments: readonly string[];
    /** Null for the public index. */
    index: string | null;
  };
  /** Where the agent keeps files of earlier versions; null for root, which takes none from it. */
  kept: string | null;
  /** Where versions of the agent lie side by side; null where nobody asks. */
  own: OwnPlaces | null;
}

/** The places of the agent's own updates, all of which belong to root. */
export interface OwnPlaces {
  /** Holds the versions and the links to them. */
  folder: string;
  /** The public half of the release key, in PEM. */
  releaseKey: string;
  /** What the executor remembers of the versions that it tried. */
  trials: string;
  /** Who must have written these; null on Windows. */
  ownerUid: number | null;
  /** Null for root, which has no network. */
  server: OwnServer | null;
}

export interface OwnServer {
  url: string;
  /** The certificates that alone vouch for it, in PEM; null: the public ones. */
  ca: string | null;
}

export interface Scan {
  /** False when anything could not be read: the server then closes no update. */
  complete: boolean;
  /** Why the scan is incomplete, for the log and an event; null when it is complete. */
  reason: string | null;
  packages: InventoryPackage[];
  updates: InventoryUpdate[];
  /** apt and dnf: what is broken, and what waits for a person; absent where it is not known. */
  condition?: PackageCondition;
}

/** How current the lists are that a package manager knows newer versions from. */
export interface ListState {
  /** Since they were last confirmed as current; null: not known, or there are none. */
  ageMs: number | null;
  /** Why newer versions may be missing, and the remedy; null when nothing is known to be amiss. */
  staleness: string | null;
}

export const UNKNOWN_LISTS: ListState = { ageMs: null, staleness: null };

export interface PlanTarget {
  name: string;
  arch?: string;
  toVersion: string;
}

/** Updates that are resolved as one transaction: at least one, each package once for each architecture. */
export interface PlanRequest {
  updates: readonly PlanTarget[];
  /** A rollback: the plan has these actions and no others, without those that are done. */
  undo?: readonly RollbackAction[];
}

export type PlanOutcome =
  | { ok: true; plan: Plan }
  /** `conflicting`: the updates of the request that keep it from a plan, where the package manager names them. */
  | { ok: false; reason: string; conflicting?: readonly PlanTarget[] };
export type PlanUpdates = (request: PlanRequest) => Promise<PlanOutcome>;
/** Replaced files that were fetched, by the name in `artifact`, and why others were not. */
export interface ReplacedFetch {
  files: readonly KeptVersion[];
  reason: string | null;
}
export type FetchOutcome = { ok: true } | { ok: false; reason: string };

/** What the agent can do for one ecosystem. It never installs: only the executor does. */
export interface EcosystemDriver {
  readonly ecosystem: Ecosystem;
  /** Whether the package manager is on this host. */
  present(paths: HostPaths): Promise<boolean>;
  scan(paths: HostPaths): Promise<Scan>;
  /**
   * Judges the package lists by `localMs`, which is the clock of this host's files. A scan from old ones is still complete:
   * it reports what the package manager knows.
   */
  examineLists(paths: HostPaths, localMs: number): Promise<ListState>;
  /** What is broken among the installed packages, and how to mend it; null when nothing is. */
  findTrouble?(paths: HostPaths): Promise<HostTrouble | null>;
  /**
   * Resolves the closure of all updates, with a hash for every artifact, or returns a reason. Updates of npm and
   * PyPI must be of one place.
   */
  plan(paths: HostPaths, request: PlanRequest): Promise<PlanOutcome>;
  /** Plans that share their reads. `upcoming` is what will probably be asked for: it is read ahead where that helps. */
  withPlanning<T>(
    paths: HostPaths,
    upcoming: readonly PlanTarget[],
    work: (plan: PlanUpdates) => Promise<T>,
  ): Promise<T>;
  /** Downloads the artifacts of the actions into an empty directory, under the file names in the plan. */
  fetch(paths: HostPaths, job: { actions: readonly PlanAction[]; directory: string }): Promise<FetchOutcome>;
  /**
   * Downloads the files of the versions that the actions replace, as `back` names them, into an empty directory. What
   * cannot be had is left out.
   */
  fetchReplaced(
    paths: HostPaths,
    job: { actions: readonly PlanAction[]; directory: string },
  ): Promise<ReplacedFetch>;
}

/** The one place of the updates (decision 0009), each package once; npm and PyPI plan a set for one place. */
export function onePlaceOf({
  updates,
}: PlanRequest): { ok: true; value: string } | { ok: false; reason: string } {
  const [first] = updates;
  if (first === undefined) return { ok: false, reason: 'a plan needs at least one update' };
  if (first.arch === undefined) return { ok: false, reason: `${first.name} names no place` };
  const elsewhere = updates.find(({ arch }) => arch !== first.arch);
  if (elsewhere !== undefined)
    return { ok: false, reason: `${elsewhere.name} belongs to another place than ${first.name}` };
  const names = updates.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return { ok: false, reason: `${twice} is named twice` };
  return { ok: true, value: first.arch };
}
