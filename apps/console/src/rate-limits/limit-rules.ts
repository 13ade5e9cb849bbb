import type { RateLimits, RateLimitsChange } from '@tidegate/protocol/rate-limits-api';

export type LimitClass = keyof RateLimits['classes'];
export type LimitField = 'requests' | 'window_seconds';

/** What each class is about, and whose requests are counted together. */
export const CLASS_WORDS: Readonly<Record<LimitClass, { readonly word: string; readonly per: string }>> = {
  agent_registration: { word: 'Hosts that enrol', per: 'address' },
  agent_renewal: { word: 'Renewals of tokens', per: 'token family' },
  agent_checkin: { word: 'Check-ins', per: 'host' },
  agent_reports: { word: 'Reports of hosts', per: 'host' },
  admin_operations: { word: 'Changes by operators', per: 'operator' },
  approvals: { word: 'Approvals', per: 'operator' },
  admin_reads: { word: 'Reading by operators', per: 'operator' },
  public_access: { word: 'Without a login', per: 'address' },
  login: { word: 'Logins', per: 'address; wrong passwords for one name are slowed down as well' },
  client_errors: { word: 'Errors that browsers report', per: 'operator or address' },
};

/** What was typed, by `class/field`, and the switches that were turned; what nobody touched is not in it. */
export interface Draft {
  readonly texts: Readonly<Record<string, string>>;
  readonly switches: Readonly<Record<string, boolean>>;
}

export const NO_DRAFT: Draft = { texts: {}, switches: {} };

/** The fields that differ from what is in force, as the server takes them; null where none does. */
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

/** What the server says of a field (`class/field`) or of a whole class (`class`). */
export function limitFaults(
  errors: readonly { readonly path: string; readonly message: string }[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(errors.map(({ path, message }) => [path.replace(/^\/?classes\//, ''), message]));
}
