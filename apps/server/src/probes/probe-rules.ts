import {
  type ProbeReport,
  type ProbeResult,
  type ProbesState,
  stateOfProbes,
} from '@tidegate/protocol/probes';

/** Least time between two events about the probes of one host: a flapping probe must not fill the log. */
export const EVENT_EVERY_MS = 10 * 60_000;

export type KeptProbe = ProbeResult & { sinceMs: number };

/** What is kept of the probes of a host. */
export interface KeptProbes {
  state: ProbesState;
  sinceMs: number;
  lookedAtMs: number;
  probes: readonly KeptProbe[];
  isRedTold: boolean;
  toldAtMs: number | null;
}

export type Told = 'red' | 'recovered' | null;

/**
 * Merges a new report into what is kept: what stays in its state keeps its time. Null: the kept report is newer.
 * `told` is the event to write: on the change to red, and when all of it is green, or gone, again.
 */
export function mergeReport(
  kept: KeptProbes | null,
  report: ProbeReport,
  nowMs: number,
): { kept: KeptProbes; told: Told } | null {
  // A clock that runs ahead must not make a report last longer than those that come after it.
  const lookedAtMs = Math.min(Date.parse(report.at), nowMs);
  if (kept !== null && lookedAtMs < kept.lookedAtMs) return null;
  const earlier = new Map(kept?.probes.map((probe) => [probe.name, probe]));
  const probes = report.probes.map((probe) => {
    const before = earlier.get(probe.name);
    return { ...probe, sinceMs: before?.state === probe.state ? before.sinceMs : lookedAtMs };
  });
  const state = stateOfProbes(report.probes);
  const told = eventOf(state, kept, nowMs);
  return {
    told,
    kept: {
      ...{ state, lookedAtMs, probes },
      sinceMs: kept?.state === state ? kept.sinceMs : lookedAtMs,
      isRedTold: told === null ? (kept?.isRedTold ?? false) : told === 'red',
      toldAtMs: told === null ? (kept?.toldAtMs ?? null) : nowMs,
    },
  };
}

/** Unknown ends nothing. What comes too soon after the last event is told with the first report after that time. */
function eventOf(state: ProbesState, kept: KeptProbes | null, nowMs: number): Told {
  const isRedTold = kept?.isRedTold ?? false;
  const isSoon = kept !== null && kept.toldAtMs !== null && nowMs - kept.toldAtMs < EVENT_EVERY_MS;
  if (isSoon) return null;
  if (state === 'red') return isRedTold ? null : 'red';
  return isRedTold && state !== 'unknown' ? 'recovered' : null;
}
