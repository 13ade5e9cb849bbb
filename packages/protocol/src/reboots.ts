import { type Static, Type } from 'typebox';
import type { StaleService } from './restarts.ts';
import { ReportedLine, strict, visibleText } from './scalars.ts';

/** Longest warning before a reboot, in minutes. */
export const REBOOT_WARN_MAX_MINUTES = 60;
/** Most services that one command restarts. */
export const RESTART_UNITS_MAX = 100;
/** Most blockers that one result names. */
export const REBOOT_BLOCKERS_MAX = 20;

/** The kernel's id of a boot, or what stands for it: new at each boot. */
export const BootId = Type.String({ minLength: 1, maxLength: 64 });

/**
 * Ends one boot of a host: `boot_id` names it, so that the same command can never end the next one. Logged-in users
 * read the cause, and are warned that many minutes before.
 */
export const RebootOrder = strict({
  boot_id: BootId,
  warn_minutes: Type.Integer({ minimum: 0, maximum: REBOOT_WARN_MAX_MINUTES }),
  cause: visibleText(200),
});
export type RebootOrder = Static<typeof RebootOrder>;

const SERVICE_UNIT = '^(?!-)[A-Za-z0-9@._:\\\\-]{1,247}\\.service$';
/** systemd.unit(5): a service by its full name; none can be read as an option of a program. */
export const ServiceUnit = Type.String({ pattern: SERVICE_UNIT, maxLength: 255 });

/** The services of a report that can be restarted by themselves, as an order names them. */
export function restartableUnits(stale: readonly Pick<StaleService, 'kind' | 'name'>[]): string[] {
  const pattern = new RegExp(SERVICE_UNIT, 'u');
  return stale.flatMap(({ kind, name }) => (kind === 'service' && pattern.test(name) ? name : []));
}

/** Services to restart, of those that the host itself reports as running replaced files. */
export const RestartOrder = strict({
  units: Type.Array(ServiceUnit, { minItems: 1, maxItems: RESTART_UNITS_MAX, uniqueItems: true }),
});
export type RestartOrder = Static<typeof RestartOrder>;

/** What keeps a host from rebooting now. */
export const RebootBlocker = strict({
  kind: Type.Enum(['user', 'inhibitor', 'package_manager', 'other']),
  name: ReportedLine,
});
export type RebootBlocker = Static<typeof RebootBlocker>;

/**
 * What became of a service. `not_stale`: it ran no replaced file when the command began, and was left alone;
 * `not_attempted`: the command ended before its turn.
 */
export const UnitOutcome = strict({
  unit: ServiceUnit,
  outcome: Type.Enum(['restarted', 'not_stale', 'failed', 'not_attempted']),
  detail: Type.Optional(ReportedLine),
});
export type UnitOutcome = Static<typeof UnitOutcome>;
