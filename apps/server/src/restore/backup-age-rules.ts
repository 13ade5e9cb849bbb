const DAY_MS = 86_400_000;

/**
 * Whole days after which a backup is too old. Backups are made every night, or by others every week: seven nights have
 * failed, or more than a week has passed.
 */
const BACKUP_MAX_DAYS = 7;
/** Whole days in which a new fleet gets its first one: a night has passed. */
const FIRST_BACKUP_MAX_DAYS = 1;

export interface BackupFacts {
  /** Null: there never was one. */
  readonly takenAtMs: number | null;
  readonly fleetCreatedAtMs: number;
  readonly nowMs: number;
}

export function isBackupDue({ takenAtMs, fleetCreatedAtMs, nowMs }: BackupFacts): boolean {
  return takenAtMs === null
    ? daysSince(fleetCreatedAtMs, nowMs) >= FIRST_BACKUP_MAX_DAYS
    : daysSince(takenAtMs, nowMs) > BACKUP_MAX_DAYS;
}

/** Whole days, and none for a time in the future. */
export function daysSince(thenMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - thenMs) / DAY_MS));
}
