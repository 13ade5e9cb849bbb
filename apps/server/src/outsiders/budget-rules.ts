const DAY_MS = 86_400_000;
const MIB = 1_048_576;

export interface Amount {
  readonly rows: number;
  readonly bytes: number;
}

/** Daily limits (UTC) of one outsider for a kind, and the shared limit of all strangers. */
export interface Budget extends Amount {
  readonly all?: Amount;
}

/**
 * Everything that outsiders write and the server keeps. An honest fleet stays far below: a new host of 1,500
 * packages with 120 plans writes 8 MiB on its first day.
 */
export const BUDGETS = {
  /** Changed inventories and plans, by host: packages, updates and actions, and the bytes of their JSON. */
  reports: { rows: 1_000_000, bytes: 64 * MIB },
  /** Updates that a host has not offered before, by host: those that ended are kept for ever. */
  offers: { rows: 20_000, bytes: 8 * MIB },
  /** Versions new to the fleet, by host. */
  first_seen: { rows: 100_000, bytes: 16 * MIB },
  /** Events of agents, by host. */
  agent_events: { rows: 2_000, bytes: 4 * MIB },
  /** Failed machine checks, by host. */
  machine_mismatches: { rows: 500, bytes: MIB },
  /** Refused registrations, by registration token. */
  refused_enrolments: { rows: 200, bytes: MIB, all: { rows: 5_000, bytes: 8 * MIB } },
  /** Failed logins, by address. */
  failed_logins: { rows: 500, bytes: MIB, all: { rows: 20_000, bytes: 16 * MIB } },
  /** Errors of browsers (E7), by operator or address. */
  client_errors: { rows: 1_000, bytes: 4 * MIB, all: { rows: 10_000, bytes: 32 * MIB } },
} as const satisfies Record<string, Budget>;
export type BudgetKind = keyof typeof BUDGETS;

/** The subject for the shared budget of all strangers of a kind. */
export const ALL = '*';

/** `spent_now`: this charge exceeds the budget, and none before it did. */
export type Charged = 'within' | 'spent_now' | 'spent';

/** The day of an instant, counted from the epoch in UTC. */
export function dayOf(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}

/** Seconds until budgets reset, at least one. */
export function secondsToNextDay(nowMs: number): number {
  return Math.max(1, Math.ceil(((dayOf(nowMs) + 1) * DAY_MS - nowMs) / 1_000));
}

/** `used` is today's sum, with this amount included. */
export function judgeCharge({
  used,
  added,
  budget,
}: {
  used: Amount;
  added: Amount;
  budget: Amount;
}): Charged {
  if (isWithin(used, budget)) return 'within';
  const before = { rows: used.rows - added.rows, bytes: used.bytes - added.bytes };
  return isWithin(before, budget) ? 'spent_now' : 'spent';
}

function isWithin(used: Amount, budget: Amount): boolean {
  return used.rows <= budget.rows && used.bytes <= budget.bytes;
}
