import type { Migration } from '../platform/db/migrate.ts';

const NOTHING = 'SELECT 1';
/** What the lists ask in a form that no index answers: PostgreSQL takes that for rare unless it has counted it. */
const ASKED = {
  updates: [
    "state || ''",
    "ecosystem || ''",
    "name || ''",
    "agent_id || ''",
    'discovered_at + 0',
    'lower(name)',
  ],
  update_names: ['lower(name)'],
  agents: ["os_id || ''", "group_name || ''"],
};

/** What triggers call for every row (migration 69). */
const OF_EACH_ROW = ['updates_flags', 'updates_deleted', 'agents_deleted', 'agents_changed_system'];

export const migration: Migration = {
  version: 76,
  name: 'planner-statistics',
  statements: [
    ...Object.entries(ASKED).flatMap(([table, expressions]) => [
      ...expressions.map((expression, i) =>
        onPostgres(`CREATE STATISTICS ${table}_asked_${i + 1} ON (${expression}) FROM ${table}`),
      ),
      // Of an empty table PostgreSQL would believe that it stays so, and keep plans for that.
      onPostgres(`DO $$ BEGIN IF EXISTS (SELECT FROM ${table}) THEN ANALYZE ${table}; END IF; END $$`),
    ]),
    // A function keeps the plan that it made when a table had few rows, and would read all of it for every row since.
    ...OF_EACH_ROW.map((name) => onPostgres(`ALTER FUNCTION ${name}() SET enable_seqscan = off`)),
    // Lists are read from indexes alone as far as pages have been tidied up since they were written last, and rows
    // that change are all over a table: of these a two-hundredth may wait for that, not a fifth.
    ...['updates', 'agents'].map((table) =>
      onPostgres(`ALTER TABLE ${table} SET (autovacuum_vacuum_scale_factor = 0.005)`),
    ),
  ],
};

function onPostgres(postgres: string) {
  return { sqlite: NOTHING, postgres };
}
