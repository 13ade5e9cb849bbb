import type { HostProbes, ProbeKind, ProbesState } from '@tidegate/protocol/probes';

/** How long a look counts, in milliseconds, as on the server. */
export const LOOK_MAX_AGE_MS = 24 * 3_600_000;

export const KIND_WORDS: Readonly<Record<ProbeKind, string>> = {
  unit: 'unit',
  failed_units: 'newly failed units',
  tcp: 'TCP',
  http: 'HTTP',
  program: 'program',
};

export function isTooOld(at: string | null, nowMs: number): boolean {
  return at === null || !(nowMs - Date.parse(at) <= LOOK_MAX_AGE_MS);
}

/** What a state is worth now. An old look says neither that it is well nor that there is nothing to look at; red stays red. */
export function shownState<S extends ProbesState>(state: S, isOld: boolean): S | 'unknown' {
  return isOld && state !== 'red' ? 'unknown' : state;
}

/** All probes together, in a sentence. */
export function probesText({ state, at, probes }: HostProbes, nowMs: number): string {
  if (at === null) return 'Not known: the host has not reported its probes.';
  const isOld = isTooOld(at, nowMs);
  if (isOld && probes.length === 0) {
    return 'Not known: no probes were configured at the last run, which is too long ago to rely on.';
  }
  if (state === 'none') {
    return 'Root has named no probes on this host: nothing says whether its services work.';
  }
  if (isOld && state === 'red')
    return 'Red at the last run. That is too long ago to rely on the other results.';
  if (isOld) return 'Not known: the last run is too long ago to rely on.';
  const count = (wanted: ProbesState) => probes.filter((probe) => probe.state === wanted).length;
  const parts = (['red', 'unknown', 'green'] as const).flatMap((wanted) =>
    count(wanted) === 0 ? [] : [`${count(wanted)} ${wanted}`],
  );
  return `${parts.join(', ')}.`;
}
