import type { Config } from '../config.ts';
import type { Database } from '../platform/db/engine.ts';
import { isBehindPooler } from '../platform/db/postgres.ts';
import { missingRoleSettings } from '../platform/db/role-settings.ts';
import type { Finding } from './doctor-rules.ts';

/** Behind a pooler the server cannot set anything for its reads: their role has to. Nothing without one. */
export async function judgePooler({ databaseUrl }: Config, database: Database): Promise<Finding[]> {
  if (databaseUrl === null || !isBehindPooler(databaseUrl)) return [];
  const check = 'pooler';
  const missing = await missingRoleSettings(database);
  if (missing.length === 0) return [{ check, level: 'ok', detail: 'the role has what reads need' }];
  const lines = missing.map((setting) => `SET ${setting}`).join(', ');
  const todo = `ALTER ROLE … IN DATABASE … ${lines}: "Several servers on one database" in the operator guide has the lines`;
  return [
    { check, level: 'warn', detail: 'reads run with other settings than without it, and may be slow', todo },
  ];
}
