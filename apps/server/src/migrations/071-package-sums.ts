import type { Migration } from '../platform/db/migrate.ts';

/** What is counted of the updates of one version of a package, and which of them count. */
const COUNTED: readonly (readonly [column: string, condition: (row: string) => string])[] = [
  ['updates', () => '1 = 1'],
  ['hosts', (row) => `${row}.again = 0`],
  ...[
    'pending',
    'awaiting_plan',
    'approved',
    'installing',
    'installed',
    'failed',
    'rejected',
    'superseded',
  ].map((state) => [state, (row: string) => `${row}.state = '${state}'`] as const),
  ['security', (row) => `${row}.security = 1`],
  ['exploited', (row) => `${row}.known_exploited = 1`],
  ['unexploited', (row) => `${row}.known_exploited = 0`],
  ...['critical', 'high', 'medium', 'low', 'none', 'unknown'].map(
    (severity) => [`severity_${severity}`, (row: string) => `${row}.severity = '${severity}'`] as const,
  ),
];
const COLUMNS = COUNTED.map(([column]) => column).join(', ');
/** What an update changes when it counts in another way. */
const WATCHED = ['gone', 'again', 'state', 'security', 'severity', 'known_exploited'];

const tableOf = (name: string, key: string) => `CREATE TABLE ${name} (
  ${key} ecosystem TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
  ${COUNTED.map(([column]) => `${column} BIGINT NOT NULL`).join(', ')}`;

/** 1 or 0 for each column: what a row adds to it. */
function partsOf(row: string): string[] {
  return COUNTED.map(([, condition]) => `CASE WHEN ${row}.gone = 0 AND ${condition(row)} THEN 1 ELSE 0 END`);
}

function added(parts: readonly string[]): string {
  return COUNTED.map(([column], i) => `${column} = package_sums.${column} + ${parts[i]}`).join(', ');
}

const differences = partsOf('NEW').map((part, i) => `(${part}) - (${partsOf('OLD')[i]})`);
const sumsOf = (row: string) =>
  partsOf(row)
    .map((part) => `sum(${part})`)
    .join(', ');
const OF_ROW = (row: string) =>
  `ecosystem = ${row}.ecosystem AND name = ${row}.name AND version = ${row}.available_version`;

const IS_GONE = 'EXISTS (SELECT 1 FROM agents AS a WHERE a.id = NEW.agent_id AND a.deleted_at IS NOT NULL)';
const IS_AGAIN = `EXISTS (SELECT 1 FROM updates AS o WHERE o.agent_id = NEW.agent_id
  AND o.ecosystem = NEW.ecosystem AND o.name = NEW.name AND o.id <> NEW.id)`;
/**
 * One writer at a time: it adds to the sums itself. The flags of 69 are set behind the sums, in the same trigger: the
 * order of two is not to be relied on, and what the flags change is added by the trigger of updates.
 */
const ON_SQLITE = {
  inserted: `CREATE TRIGGER updates_summed_insert AFTER INSERT ON updates BEGIN
    INSERT INTO package_sums (ecosystem, name, version, ${COLUMNS})
      VALUES (NEW.ecosystem, NEW.name, NEW.available_version, ${partsOf('NEW').join(', ')})
      ON CONFLICT (ecosystem, name, version)
      DO UPDATE SET ${added(COUNTED.map(([column]) => `excluded.${column}`))};
    UPDATE updates SET gone = ${IS_GONE}, again = ${IS_AGAIN} WHERE id = NEW.id AND (${IS_GONE} OR ${IS_AGAIN});
    END`,
  updated: `CREATE TRIGGER updates_summed_update AFTER UPDATE OF ${WATCHED.join(', ')} ON updates
    WHEN ${WATCHED.map((column) => `OLD.${column} IS NOT NEW.${column}`).join(' OR ')} BEGIN
    UPDATE package_sums SET ${added(differences)} WHERE ${OF_ROW('NEW')};
    END`,
  deleted: `CREATE TRIGGER updates_summed_delete AFTER DELETE ON updates BEGIN
    UPDATE package_sums SET ${added(partsOf('OLD').map((part) => `-(${part})`))} WHERE ${OF_ROW('OLD')};
    END`,
};

/** Many write at once, and all of them about the same package: each leaves what it adds, and waits for none. */
const leave = (
  from: string,
  counts: string,
) => `INSERT INTO package_deltas (ecosystem, name, version, ${COLUMNS})
  SELECT n.ecosystem, n.name, n.available_version, ${counts} FROM ${from} GROUP BY 1, 2, 3`;
const changed = (row: string) => `(${WATCHED.map((column) => `${row}.${column}`).join(', ')})`;
const onPostgres = (act: 'insert' | 'update' | 'delete', tables: string, body: string) =>
  `CREATE FUNCTION updates_summed_${act}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NULL; END $$;
  CREATE TRIGGER updates_summed_${act} AFTER ${act.toUpperCase()} ON updates REFERENCING ${tables}
    FOR EACH STATEMENT EXECUTE FUNCTION updates_summed_${act}()`;
const ON_POSTGRES = {
  inserted: onPostgres('insert', 'NEW TABLE AS new_rows', leave('new_rows AS n', sumsOf('n'))),
  updated: onPostgres(
    'update',
    'OLD TABLE AS old_rows NEW TABLE AS new_rows',
    leave(
      `new_rows AS n JOIN old_rows AS o ON o.id = n.id AND ${changed('o')} IS DISTINCT FROM ${changed('n')}`,
      partsOf('n')
        .map((part, i) => `sum((${part}) - (${partsOf('o')[i]}))`)
        .join(', '),
    ),
  ),
  deleted: onPostgres(
    'delete',
    'OLD TABLE AS old_rows',
    leave(
      'old_rows AS n',
      partsOf('n')
        .map((part) => `-sum(${part})`)
        .join(', '),
    ),
  ),
};

export const migration: Migration = {
  version: 71,
  name: 'package-sums',
  statements: [
    {
      sqlite: `${tableOf('package_sums', '')}, PRIMARY KEY (ecosystem, name, version)) WITHOUT ROWID`,
      postgres: `${tableOf('package_sums', '')}, PRIMARY KEY (ecosystem, name, version));
        ALTER TABLE package_sums ALTER COLUMN ecosystem TYPE TEXT COLLATE "C", ALTER COLUMN name TYPE TEXT COLLATE "C"`,
    },
    // On SQLite a backup of PostgreSQL brings such rows, and nothing else does.
    {
      sqlite: `${tableOf('package_deltas', 'id INTEGER PRIMARY KEY,')})`,
      postgres: `${tableOf('package_deltas', 'id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,')});
        ALTER TABLE package_deltas ALTER COLUMN ecosystem TYPE TEXT COLLATE "C",
          ALTER COLUMN name TYPE TEXT COLLATE "C"`,
    },
    `INSERT INTO package_sums (ecosystem, name, version, ${COLUMNS})
      SELECT u.ecosystem, u.name, u.available_version, ${sumsOf('u')} FROM updates AS u GROUP BY 1, 2, 3`,
    // What counts: the sums, and what is not added to them yet.
    {
      sqlite: `CREATE VIEW package_counts AS SELECT ecosystem, name, version, ${COLUMNS} FROM package_sums`,
      postgres: `CREATE VIEW package_counts AS SELECT ecosystem, name, version, ${COLUMNS} FROM package_sums
        UNION ALL SELECT ecosystem, name, version, ${COLUMNS} FROM package_deltas`,
    },
    { sqlite: 'DROP TRIGGER updates_flags', postgres: 'SELECT 1' },
    { sqlite: ON_SQLITE.inserted, postgres: ON_POSTGRES.inserted },
    { sqlite: ON_SQLITE.updated, postgres: ON_POSTGRES.updated },
    { sqlite: ON_SQLITE.deleted, postgres: ON_POSTGRES.deleted },
  ],
};
