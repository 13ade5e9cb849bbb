import type { RateLimits, RateLimitsChange } from '@tidegate/protocol/rate-limits-api';

export type LimitClass = keyof RateLimits['classes'];
export type LimitField = 'requests' | 'window_seconds';

/** The label of each class, and what its requests are counted by. */
export const CLASS_WORDS: Readonly<Record<LimitClass, { readonly word: string; readonly per: string }>> = {
  agent_registration: { word: 'Enrolments', per: 'address' },
  agent_renewal: { word: 'Token renewals', per: 'credentials of a host' },
  agent_checkin: { word: 'Check-ins', per: 'host' },
  agent_reports: { word: 'Host reports', per: 'host' },
  admin_operations: { word: 'Operator changes', per: 'operator' },
  approvals: { word: 'Approvals', per: 'operator' },
  admin_reads: { word: 'Operator reads', per: 'operator' },
  public_access: { word: 'Requests without a login', per: 'address' },
  login: { word: 'Logins', per: 'address; wrong passwords for one name are also slowed down' },
  client_errors: { word: 'Browser error reports', per: 'operator or address' },
  fleet_lock: { word: 'FleetLock calls', per: 'address and token' },
};

/** The edited values by `class/field`, and the toggled switches; untouched ones are absent. */
export interface Draft {
  readonly texts: Readonly<Record<string, string>>;
  readonly switches: Readonly<Record<string, boolean>>;
}

export const NO_DRAFT: Draft = { texts: {}, switches: {} };

/** The fields that differ from the limits in force, as a request body; null if none does. */
export function changesOf(draft: Draft, classes: RateLimits['classes']): RateLimitsChange | null {
  const changed: RateLimitsChange['classes'] = {};
  for (const name of namesOf(classes)) {
    const before = classes[name];
    const change: { requests?: number; window_seconds?: number; enabled?: boolean } = {};
    for (const field of ['requests', 'window_seconds'] as const) {
      const text = draft.texts[`${name}/${field}`];
      if (text !== undefined && Number(text) !== before[field]) change[field] = Number(text);
    }
    const enabled = draft.switches[name];
    if (enabled !== undefined && enabled !== before.enabled) change.enabled = enabled;
    if (Object.keys(change).length > 0) changed[name] = change;
  }
  return Object.keys(changed).length > 0 ? { classes: changed } : null;
}

export function namesOf(classes: RateLimits['classes']): readonly LimitClass[] {
  return Object.keys(CLASS_WORDS).filter((name): name is LimitClass => name in classes);
}

/** The server's messages by field (`class/field`) or class (`class`). */
export function limitFaults(
  errors: readonly { readonly path: string; readonly message: string }[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(errors.map(({ path, message }) => [path.replace(/^\/?classes\//, ''), message]));
}
