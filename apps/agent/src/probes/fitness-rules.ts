import type { ProbeReport } from '@tidegate/protocol/probes';

/** How old what root's probes saw may be when an installation begins. */
export const LOOK_MAX_AGE_MS = 10 * 60_000;

export type Fitness =
  | { ok: true; report: ProbeReport | null }
  | { ok: false; detail: string; report: ProbeReport | null };

/**
 * Whether a host is sound before an installation: every probe that root has named is green in a look of the last ten
 * minutes. What has failed since the *last* installation is left out: the state before this one is what it will be
 * compared with, and many hosts have a unit that failed long ago.
 */
export function judgeFitness(facts: {
  /** The names of root's probes; null: the folder cannot be trusted. */
  names: readonly string[] | null;
  report: ProbeReport | null;
  nowMs: number;
}): Fitness {
  const { names, report, nowMs } = facts;
  if (names === null) return { ok: false, detail: 'the folder of the probes cannot be used', report: null };
  if (names.length === 0) return { ok: true, report: null };
  const ageMs = report === null ? Infinity : nowMs - Date.parse(report.at);
  if (report === null || Math.abs(ageMs) > LOOK_MAX_AGE_MS) {
    return { ok: false, detail: 'nobody has run the probes of this host in the last ten minutes', report };
  }
  const seen = new Map(report.probes.map((probe) => [probe.name, probe]));
  for (const name of names) {
    const probe = seen.get(name);
    if (probe === undefined) return { ok: false, detail: `the probe ${name} has not run`, report };
    if (probe.state === 'green' || probe.kind === 'failed_units') continue;
    const why = probe.detail === undefined ? '' : `: ${probe.detail}`;
    return { ok: false, detail: `the probe ${name} is ${probe.state}${why}`, report };
  }
  return { ok: true, report };
}
