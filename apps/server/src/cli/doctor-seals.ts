import type { Database } from '../platform/db/engine.ts';
import { findBrokenSeals } from '../platform/db/seal-rows.ts';
import type { Finding } from './doctor-rules.ts';

/** Rows named at most. */
const NAMED_MAX = 5;

const check = 'row seals';

export const NO_SECRET: Finding = {
  check,
  level: 'fail',
  detail: 'the token secret, which seals them, is missing',
  todo: "restore jwt-secret from a backup with keys, or set SERVICE_JWT_SECRET to the server's value",
};

/** Checks the seal of every row that grants a right: this also finds rows that others wrote. */
export async function judgeSeals({ read }: Database): Promise<Finding> {
  const broken = await findBrokenSeals(read);
  if (broken.length === 0)
    return { check, level: 'ok', detail: 'every row that grants a right has a valid seal' };
  const named = broken.slice(0, NAMED_MAX).map(({ table, row, reason }) => `${table} ${row} (${reason})`);
  const more = broken.length > NAMED_MAX ? ` and ${broken.length - NAMED_MAX} more` : '';
  return {
    check,
    level: 'fail',
    detail: `${broken.length} rows that grant rights have no valid seal and are refused: ${named.join(', ')}${more}`,
    todo: 'find out who else writes to the database; `tidegate seals` lists the rows, `tidegate seals remove` deletes them',
  };
}
