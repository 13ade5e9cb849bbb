import type { Database } from '../platform/db/engine.ts';
import { daysSince, isBackupDue } from '../restore/backup-age-rules.ts';
import { readLastBackup } from '../restore/last-backup-store.ts';
import { readFleet } from '../signing-keys/store.ts';
import type { Finding } from './doctor-rules.ts';

const MB = 1_000_000;

/** How old the last backup is that the database knows of. */
export async function judgeBackups({ read }: Database, now: () => number): Promise<Finding> {
  const check = 'backups';
  const nowMs = now();
  const last = await readLastBackup(read);
  const takenAtMs = last?.taken_at ?? null;
  const fleetCreatedAtMs = (await readFleet(read))?.created_at ?? nowMs;
  const isDue = isBackupDue({ takenAtMs, fleetCreatedAtMs, nowMs });
  const none = isDue
    ? 'this database was never backed up'
    : 'none yet; one is expected within a day of the first start';
  const detail = last === null ? none : wordsOf(last, nowMs);
  if (!isDue) return { check, level: 'ok', detail };
  const todo =
    'run `tidegate backup`, or enable tidegate-backup.timer; after a backup by other means `tidegate backup --record-external`';
  return { check, level: 'warn', detail, todo };
}

function wordsOf(last: NonNullable<Awaited<ReturnType<typeof readLastBackup>>>, nowMs: number): string {
  const days = daysSince(last.taken_at, nowMs);
  const size = last.bytes === null ? '' : `, ${(last.bytes / MB).toFixed(1)} MB`;
  const by = last.made_by === 'other' ? ', by other means' : '';
  return `the last one ${days === 0 ? 'today' : days === 1 ? 'a day ago' : `${days} days ago`}${size}${by}`;
}
