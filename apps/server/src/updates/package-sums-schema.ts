import { BY_KEY, BYTEWISE, perEngine, postgresTrigger, type Statement } from '../platform/db/statement.ts';
import { IS_AGAIN, IS_GONE } from './host-flags-schema.ts';

// Packages are listed by what is counted of their updates: triggers add it up for each version of a package.

const STATES = [
  ...['pending', 'awaiting_plan', 'approved', 'installing'],
  ...['installed', 'failed', 'rejected', 'superseded'],
];
const SEVERITIES = ['critical', 'high', 'medium', 'low', 'none', 'unknown'];

/** The columns of a sum, and which updates count in each. */
const COUNTED: readonly (readonly [column: string, condition: (row: string) => string])[] = [
  ['updates', () => '1 = 1'],
  ['hosts', (row) => `${row}.again = 0`],
  ...STATES.map((state) => [state, (row: string) => `${row}.state = '${state}'`] as const),
  ['security', (row) => `${row}.security = 1`],
  ['exploited', (row) => `${row}.known_exploited = 1`],
  ['unexploited', (row) => `${row}.known_exploited = 0`],
  ...SEVERITIES.map(
    (severity) => [`severity_${severity}`, (row: string) => `${row}.severity = '${severity}'`] as const,
  ),
];
const COLUMNS = COUNTED.map(([column]) => column).join(', ');
const SUM_COLUMNS = perEngine`ecosystem TEXT${BYTEWISE} NOT NULL, name TEXT${BYTEWISE} NOT NULL,
  version TEXT NOT NULL, ${COUNTED.map(([column]) => `${column} BIGINT NOT NULL`).join(', ')}`;
/** What an update changes when it counts in another way. */
const WATCHED = ['gone', 'again', 'state', 'security', 'severity', 'known_exploited'];

/** 1 or 0 for each column: what a row adds to it. */
function partsOf(row: string): string[] {
  return COUNTED.map(([, condition]) => `CASE WHEN ${row}.gone = 0 AND ${condition(row)} THEN 1 ELSE 0 END`);
}

function added(parts: readonly string[]): string {
  return COUNTED.map(([column], i) => `${column} = package_sums.${column} + ${parts[i]}`).join(', ');
}

const ofRow = (row: string) =>
  `ecosystem = ${row}.ecosystem AND name = ${row}.name AND version = ${row}.available_version`;
const differences = partsOf('NEW').map((part, i) => `(${part}) - (${partsOf('OLD')[i]})`);

/**
 * One writer at a time: it adds to the sums itself. The flags of the host are set behind the sums, in the same trigger:
 * the order of two is not to be relied on, and what the flags change is added by the trigger of updates.
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
    UPDATE package_sums SET ${added(differences)} WHERE ${ofRow('NEW')};
    END`,
  deleted: `CREATE TRIGGER updates_summed_delete AFTER DELETE ON updates BEGIN
    UPDATE package_sums SET ${added(partsOf('OLD').map((part) => `-(${part})`))} WHERE ${ofRow('OLD')};
    END`,
};

const changed = (row: string) => `(${WATCHED.map((column) => `${row}.${column}`).join(', ')})`;
/** Many write at once, and all of them about the same package: each leaves what it adds, and waits for none. */
const ON_POSTGRES = {
  inserted: leave('insert', {
    rows: 'NEW TABLE AS new_rows',
    from: 'new_rows AS n',
    parts: partsOf('n').map((part) => `sum(${part})`),
  }),
  updated: leave('update', {
    rows: 'OLD TABLE AS old_rows NEW TABLE AS new_rows',
    from: `new_rows AS n JOIN old_rows AS o ON o.id = n.id AND ${changed('o')} IS DISTINCT FROM ${changed('n')}`,
    parts: partsOf('n').map((part, i) => `sum((${part}) - (${partsOf('o')[i]}))`),
  }),
  deleted: leave('delete', {
    rows: 'OLD TABLE AS old_rows',
    from: 'old_rows AS n',
    parts: partsOf('n').map((part) => `-sum(${part})`),
  }),
};

function leave(
  act: 'insert' | 'update' | 'delete',
  { rows, from, parts }: { rows: string; from: string; parts: readonly string[] },
): string {
  return postgresTrigger(`updates_summed_${act}`, {
    on: `AFTER ${act.toUpperCase()} ON updates REFERENCING ${rows} FOR EACH STATEMENT`,
    body: `INSERT INTO package_deltas (ecosystem, name, version, ${COLUMNS})
      SELECT n.ecosystem, n.name, n.available_version, ${parts.join(', ')} FROM ${from} GROUP BY 1, 2, 3;
      RETURN NULL;`,
  });
}

export const PACKAGE_SUMS: readonly Statement[] = [
  perEngine`CREATE TABLE package_sums (
    ${SUM_COLUMNS},
    PRIMARY KEY (ecosystem, name, version)
  )${BY_KEY}`,
  // What is not added to the sums yet. On SQLite a backup of PostgreSQL brings such rows, and nothing else does.
  perEngine`CREATE TABLE package_deltas (
    id ${{ sqlite: 'INTEGER', postgres: 'BIGINT GENERATED BY DEFAULT AS IDENTITY' }} PRIMARY KEY,
    ${SUM_COLUMNS}
  )`,
  perEngine`CREATE VIEW package_counts AS SELECT ecosystem, name, version, ${COLUMNS} FROM package_sums${{
    postgres: ` UNION ALL SELECT ecosystem, name, version, ${COLUMNS} FROM package_deltas`,
  }}`,
  { sqlite: ON_SQLITE.inserted, postgres: ON_POSTGRES.inserted },
  { sqlite: ON_SQLITE.updated, postgres: ON_POSTGRES.updated },
  { sqlite: ON_SQLITE.deleted, postgres: ON_POSTGRES.deleted },
];
