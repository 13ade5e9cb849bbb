import { sql } from 'kysely';
import type { Database } from './engine.ts';

/** What reads outside transactions need behind a pooler, as the operator guide gives it to the role. */
const OF_ROLE: Readonly<Record<string, string>> = {
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  random_page_cost: '1.1',
  statement_timeout: '30000',
};

/** The settings of the connection's role that differ, as `name = value` that they should have. */
export async function missingRoleSettings({ read }: Pick<Database, 'read'>): Promise<string[]> {
  const { rows } = await sql<{ name: string; setting: string }>`SELECT name, setting FROM pg_settings
    WHERE name IN (${sql.join(Object.keys(OF_ROLE))})`.execute(read);
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  return Object.entries(OF_ROLE).flatMap(([name, value]) =>
    found.get(name) === value ? [] : [`${name} = ${value}`],
  );
}
