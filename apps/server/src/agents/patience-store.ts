import { sql } from 'kysely';
import { CHECK_IN_INTERVAL_SECONDS, ONLINE_INTERVALS } from './presence.ts';

/** `patienceOf` for a row of `agents` with the alias `a`. */
export const PATIENCE_MS = sql<number>`coalesce(a.polling_interval_seconds, ${sql.lit(CHECK_IN_INTERVAL_SECONDS)}) * ${sql.lit(ONLINE_INTERVALS * 1_000)}`;
