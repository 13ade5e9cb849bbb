import { RESTART_UNITS_MAX, restartableUnits } from '@tidegate/protocol/reboots';
import type { RebootKind, RebootLeftOut } from '@tidegate/protocol/reboots-api';
import type { RestartReport } from '@tidegate/protocol/restarts';

/** What a host says of its need, by the evidence of its present boot (decision 0041). */
export interface NeedFacts {
  readonly kind: RebootKind;
  readonly onlyNeeded: boolean;
  /** Null: it has never checked in. */
  readonly bootId: string | null;
  /** Null: it has reported nothing. */
  readonly report: RestartReport | null;
  readonly isQueued: boolean;
}

export type Need =
  | { kind: 'queue'; bootId: string; units: string[] | null }
  | { kind: 'left_out'; why: RebootLeftOut };

const leftOut = (why: RebootLeftOut): Need => ({ kind: 'left_out', why });

/** Whether a host is queued. Evidence of another boot is none: unknown is never taken as needed, or as not needed. */
export function needOf({ kind, onlyNeeded, bootId, report, isQueued }: NeedFacts): Need {
  if (bootId === null) return leftOut('never_checked_in');
  if (isQueued) return leftOut('queued_already');
  const known = report?.boot_id === bootId ? report : null;
  if (kind === 'reboot') {
    if (!onlyNeeded) return { kind: 'queue', bootId, units: null };
    const need = known?.reboot.need ?? 'unknown';
    return need === 'needed' ? { kind: 'queue', bootId, units: null } : leftOut(need);
  }
  const units =
    known === null ? [] : [...new Set(restartableUnits(known.services.stale))].slice(0, RESTART_UNITS_MAX);
  if (units.length > 0) return { kind: 'queue', bootId, units };
  // Only core services, sessions and processes of no unit: no restart of a service helps.
  return leftOut(known === null || known.services.need === 'unknown' ? 'unknown' : 'not_needed');
}
