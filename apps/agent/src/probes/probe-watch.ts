import { writeFileSync } from 'node:fs';
import type { ProbeReport, ProbeResult } from '@tidegate/protocol/probes';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import type { Pause } from '../platform/back-off.ts';
import type { FileTrust } from '../platform/file-layer.ts';
import { shownText } from '../platform/shown-text.ts';
import { type Look, readLook } from './look-file.ts';
import { readProbes } from './probe-file.ts';
import { FOLDER_PROBE } from './run-probes.ts';

/** In the agent's folder; writing it starts `tidegate-probe.service`. */
export const PROBE_REQUEST_NAME = 'probe-request';
/** When the probes run again after an installation. */
const AGAIN_MS = [60_000, 600_000] as const;
/** How long after the last run they run again, whatever happens: the console counts on no look older than a day. */
const EVERY_MS = 6 * 3_600_000;
/** How long root's unit is waited for, how often it is asked again meanwhile, and how often its answer is looked for. */
const UNIT_MAX_MS = 420_000;
const ASK_EVERY_MS = 5_000;
const POLL_MS = 500;

export interface ProbeWatchOptions {
  policy: PolicyPlace;
  /** Where root's probes leave what they saw, and who must have written it. */
  lookFile: string;
  writerUid: FileTrust['ownerUid'];
  /**
   * An agent that is root runs them itself; elsewhere a unit does whenever `requestFile` is written, where it is installed.
   * Null: nobody can run them.
   */
  runs:
    | { by: 'self'; look: () => Promise<unknown> }
    | { by: 'unit'; requestFile: string; isInstalled: () => boolean }
    | null;
  /** `trustedNow`; the clock of the look file; and one that never jumps. */
  nowMs: () => number;
  localMs: () => number;
  elapsedMs: () => number;
}

/** What the agent knows of the probes that root has named on this host. */
export interface ProbeWatch {
  /** Runs them now, and keeps what they saw for the server. */
  look(pause: Pause): Promise<ProbeReport>;
  /** Whether they are to run: after a start, one and ten minutes after an installation, and every six hours. */
  isDue(): boolean;
  /** An installation has ended. */
  followUp(): void;
  /** In how many milliseconds they are due again; told once. */
  newlyDue(): readonly number[];
  /** What the server has not been told yet. */
  unsent(): ProbeReport | null;
  sent(report: ProbeReport): void;
}

export function watchProbes(options: ProbeWatchOptions): ProbeWatch {
  const { policy, lookFile, writerUid, runs, nowMs, localMs, elapsedMs } = options;
  let dueMs: number[] = [elapsedMs()];
  let untold: readonly number[] = [];
  let lastMs = elapsedMs();
  let unsent: ProbeReport | null = null;

  async function see(pause: Pause): Promise<Look | null> {
    const askedMs = localMs();
    const seen = () => {
      const look = readLook(lookFile, writerUid);
      return look !== null && Date.parse(look.report.at) >= askedMs ? look : null;
    };
    if (runs?.by === 'self') await runs.look();
    if (runs?.by !== 'unit') return seen();
    // Nobody answers without it: what the host has to do meanwhile must not wait.
    if (!runs.isInstalled()) return null;
    for (let waitedMs = 0; waitedMs < UNIT_MAX_MS; waitedMs += POLL_MS) {
      // A unit that is running does not notice it, so it is written again.
      if (waitedMs % ASK_EVERY_MS === 0) writeFileSync(runs.requestFile, `${askedMs}\n`, { mode: 0o600 });
      const look = seen();
      if (look !== null || !(await pause(POLL_MS))) return look;
    }
    return null;
  }

  async function report(pause: Pause): Promise<ProbeReport> {
    const folder = readProbes(policy);
    const at = new Date(nowMs()).toISOString();
    if (folder.ok && folder.files.length === 0) return { at, probes: [] };
    const look = await see(pause);
    if (look !== null) {
      // The time of the server's documents counts, which may be later than the clock of this host.
      const ageMs = Math.max(0, localMs() - Date.parse(look.report.at));
      return { ...look.report, at: new Date(nowMs() - ageMs).toISOString() };
    }
    const isMissing = runs === null || (runs.by === 'unit' && !runs.isInstalled());
    const detail = isMissing ? 'tidegate-probe.path is not installed' : 'root has not run it';
    const names = folder.ok ? folder.files.map(({ name }) => name) : [FOLDER_PROBE];
    const why = folder.ok ? detail : folder.fault;
    return {
      at,
      probes: names.map((name): ProbeResult => ({ name, state: 'unknown', detail: shownText(why, 200) })),
    };
  }

  return {
    async look(pause) {
      dueMs = dueMs.filter((at) => at > elapsedMs());
      lastMs = elapsedMs();
      unsent = await report(pause);
      return unsent;
    },
    isDue: () => elapsedMs() - lastMs >= EVERY_MS || dueMs.some((at) => at <= elapsedMs()),
    followUp: () => {
      // One that comes soon after another is followed up for both.
      dueMs = AGAIN_MS.map((afterMs) => elapsedMs() + afterMs);
      untold = AGAIN_MS;
    },
    newlyDue: () => {
      const told = untold;
      untold = [];
      return told;
    },
    unsent: () => unsent,
    sent: (report) => {
      if (unsent === report) unsent = null;
    },
  };
}
