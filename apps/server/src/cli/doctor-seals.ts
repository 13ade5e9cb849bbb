import type { Database } from '../platform/db/engine.ts';
import { findBrokenSeals } from '../platform/db/seal-rows.ts';
import type { Finding } from './doctor-rules.ts';

/** Rows named at most. */
const NAMED_MAX = 5;

const check = 'row seals';

export const NO_SECRET: Finding = {
  check,
  level: 'fail',
  detail: 'the token secret that seals them is not here',
  todo: 'bring jwt-secret back from a backup with keys, or set SERVICE_JWT_SECRET as the server has it',
};

/** Every row that gives a right, held against its seal: who else writes to the database is found here too. */
export async function judgeSeals({ read }: Database): Promise<Finding> {
  const broken = await findBrokenSeals(read);
  if (broken.length === 0)
    return { check, level: 'ok', detail: 'every row that gives a right bears its seal' };
  const named = broken.slice(0, NAMED_MAX).map(({ table, row, reason }) => `${table} ${row} (${reason})`);
  const more = broken.length > NAMED_MAX ? ` and ${broken.length - NAMED_MAX} more` : '';
  return {
    check,
    level: 'fail',
    detail: `${broken.length} rows that give rights bear no valid seal and are refused: ${named.join(', ')}${more}`,
    todo: 'find out who writes to the database; `tidegate seals` lists them all, `tidegate seals remove` ends them',
  };
}
