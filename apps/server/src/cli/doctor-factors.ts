import type { Config } from '../config.ts';
import { isFactorDemanded } from '../operators/demand-factor.ts';
import { operatorViews } from '../operators/operator-view.ts';
import { listOperators } from '../operators/store.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Finding } from './doctor-rules.ts';

const PAGE = 200;
/** Operators that are named; the others are counted. */
const NAMED = 20;

/** Names who can log in with the password alone; a warning when the settings require more. */
export async function judgeSecondFactors(
  { secondFactor: who }: Config,
  { read }: Database,
): Promise<Finding> {
  const check = 'second factors';
  const without: string[] = [];
  let asked = 0;
  for (let after: string | null = null; ; ) {
    const rows = await listOperators(read, { limit: PAGE, after });
    for (const { username, role, disabled, second_factors } of await operatorViews(read, rows)) {
      if (disabled || second_factors.length > 0) continue;
      without.push(username);
      if (isFactorDemanded({ who, graceMs: 0 }, { role })) asked++;
    }
    if (rows.length < PAGE) break;
    after = rows.at(-1)?.username ?? null;
  }
  if (without.length === 0) return { check, level: 'ok', detail: 'every operator has one' };
  const more = without.length > NAMED ? ` and ${without.length - NAMED} more` : '';
  const detail = `none for ${without.slice(0, NAMED).join(', ')}${more}`;
  if (asked === 0) return { check, level: 'ok', detail: `${detail} (SERVICE_SECOND_FACTOR is ${who})` };
  const todo = `SERVICE_SECOND_FACTOR is ${who}: tell ${asked} of them to enrol one soon; after that they can do nothing else`;
  return { check, level: 'warn', detail, todo };
}
