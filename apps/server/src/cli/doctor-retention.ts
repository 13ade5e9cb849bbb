import { rfc3339Seconds } from '../platform/clock.ts';
import type { Database } from '../platform/db/engine.ts';
import { isDoubted, STOOD_MS } from '../platform/retention/clock-rules.ts';
import { type RetentionClockRow, readRetentionClock } from '../platform/retention/store.ts';
import type { Finding } from './doctor-rules.ts';

/** Whether the running server believes its clock where it removes what is old. */
export async function judgeRetentionClock({ read }: Database): Promise<Finding> {
  return judgeRetention(await readRetentionClock(read));
}

export function judgeRetention(row: RetentionClockRow | null): Finding {
  const check = 'retention';
  if (row === null || !isDoubted(row))
    return { check, level: 'ok', detail: 'what is old is removed by the clock' };
  const [said, believed] = [rfc3339Seconds(row.read_at), rfc3339Seconds(row.believed_at)];
  const hours = Math.ceil((STOOD_MS - row.stood_ms) / 3_600_000);
  return {
    check,
    level: 'warn',
    detail: `the clock has jumped from ${believed} to ${said}: nothing newly old is removed`,
    todo: `set the clock if it is wrong; if it is right, the server believes it after ${hours} more hours of running`,
  };
}
