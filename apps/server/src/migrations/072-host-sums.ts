import type { Migration } from '../platform/db/migrate.ts';

const IS_PENDING = (row: string) => `CASE WHEN ${row}.state = 'pending' THEN 1 ELSE 0 END`;
const add = (row: string, amount: string) =>
  `UPDATE host_sums SET pending = pending + ${amount} WHERE agent_id = ${row}.agent_id`;

// In the order of the hosts, so that two that change the same hosts at once wait for each other and never in a circle.
const addAll = (from: string, amount: string) => `INSERT INTO host_sums (agent_id, pending)
  SELECT n.agent_id, sum(${amount}) FROM ${from} GROUP BY n.agent_id HAVING sum(${amount}) <> 0 ORDER BY n.agent_id
  ON CONFLICT (agent_id) DO UPDATE SET pending = host_sums.pending + excluded.pending`;
const onPostgres = (act: 'insert' | 'update' | 'delete', tables: string, body: string) =>
  `CREATE FUNCTION updates_pending_${act}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN NULL; END $$;
  CREATE TRIGGER updates_pending_${act} AFTER ${act.toUpperCase()} ON updates REFERENCING ${tables}
    FOR EACH STATEMENT EXECUTE FUNCTION updates_pending_${act}()`;
const onSqlite = (act: string, when: string, body: string) =>
  `CREATE TRIGGER updates_pending_${act} AFTER ${act} ON updates WHEN ${when} BEGIN ${body}; END`;

export const migration: Migration = {
  version: 72,
  name: 'host-sums',
  statements: [
    // Updates that wait for a decision, of every host; it takes the place of an index of those updates.
    {
      sqlite: 'CREATE TABLE host_sums (agent_id TEXT PRIMARY KEY, pending BIGINT NOT NULL) WITHOUT ROWID',
      postgres: `CREATE TABLE host_sums (agent_id TEXT PRIMARY KEY, pending BIGINT NOT NULL)
        WITH (fillfactor = 50)`,
    },
    `INSERT INTO host_sums (agent_id, pending) SELECT a.id, COALESCE(w.pending, 0) FROM agents AS a
      LEFT JOIN (SELECT agent_id, count(*) AS pending FROM updates WHERE state = 'pending' GROUP BY agent_id) AS w
        ON w.agent_id = a.id`,
    'CREATE INDEX host_sums_by_pending ON host_sums (pending, agent_id)',
    'DROP INDEX updates_pending',
    {
      sqlite: `CREATE TRIGGER agents_summed AFTER INSERT ON agents
        BEGIN INSERT INTO host_sums (agent_id, pending) VALUES (NEW.id, 0); END`,
      postgres: `CREATE FUNCTION agents_summed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO host_sums (agent_id, pending) SELECT n.id, 0 FROM new_rows AS n; RETURN NULL; END $$;
        CREATE TRIGGER agents_summed AFTER INSERT ON agents REFERENCING NEW TABLE AS new_rows
          FOR EACH STATEMENT EXECUTE FUNCTION agents_summed()`,
    },
    {
      sqlite: onSqlite('INSERT', "NEW.state = 'pending'", add('NEW', '1')),
      postgres: onPostgres('insert', 'NEW TABLE AS new_rows', addAll('new_rows AS n', IS_PENDING('n'))),
    },
    {
      sqlite: `CREATE TRIGGER updates_pending_update AFTER UPDATE OF state ON updates
        WHEN (OLD.state = 'pending') <> (NEW.state = 'pending')
        BEGIN ${add('NEW', `${IS_PENDING('NEW')} - ${IS_PENDING('OLD')}`)}; END`,
      postgres: onPostgres(
        'update',
        'OLD TABLE AS old_rows NEW TABLE AS new_rows',
        addAll(
          'new_rows AS n JOIN old_rows AS o ON o.id = n.id AND o.state <> n.state',
          `(${IS_PENDING('n')} - ${IS_PENDING('o')})`,
        ),
      ),
    },
    {
      sqlite: onSqlite('DELETE', "OLD.state = 'pending'", add('OLD', '-1')),
      postgres: onPostgres('delete', 'OLD TABLE AS old_rows', addAll('old_rows AS n', `-${IS_PENDING('n')}`)),
    },
  ],
};
