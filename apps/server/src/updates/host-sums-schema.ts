import { HOT_ROWS, perEngine, postgresTrigger, type Statement } from '../platform/db/statement.ts';
import { RECOMMENDED_HERE } from './offer-rules.ts';

// Lists sort hosts by their pending updates: triggers keep the number for every host. Of several versions that are
// offered of one package only the recommended one counts.

const waits = (row: string) => `${row}.state = 'pending' AND (${row}.recommended & ${RECOMMENDED_HERE}) <> 0`;
const isPending = (row: string) => `CASE WHEN ${waits(row)} THEN 1 ELSE 0 END`;

/** SQLite has one writer at a time, which adds to the sum itself. */
const add = (row: string, amount: string) =>
  `UPDATE host_sums SET pending = pending + ${amount} WHERE agent_id = ${row}.agent_id`;

/** In the order of the hosts, so that concurrent writers of the same hosts never deadlock. */
function addAll(
  act: 'insert' | 'update' | 'delete',
  { rows, from, amount }: { rows: string; from: string; amount: string },
): string {
  return postgresTrigger(`updates_pending_${act}`, {
    on: `AFTER ${act.toUpperCase()} ON updates REFERENCING ${rows} FOR EACH STATEMENT`,
    body: `INSERT INTO host_sums (agent_id, pending)
      SELECT n.agent_id, sum(${amount}) FROM ${from} GROUP BY n.agent_id HAVING sum(${amount}) <> 0 ORDER BY n.agent_id
      ON CONFLICT (agent_id) DO UPDATE SET pending = host_sums.pending + excluded.pending; RETURN NULL;`,
  });
}

export const HOST_SUMS: readonly Statement[] = [
  perEngine`CREATE TABLE host_sums (
    agent_id TEXT PRIMARY KEY,
    pending BIGINT NOT NULL
  )${HOT_ROWS}`,
  'CREATE INDEX host_sums_by_pending ON host_sums (pending, agent_id)',
  {
    sqlite: `CREATE TRIGGER agents_summed AFTER INSERT ON agents
      BEGIN INSERT INTO host_sums (agent_id, pending) VALUES (NEW.id, 0); END`,
    postgres: postgresTrigger('agents_summed', {
      on: 'AFTER INSERT ON agents REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT',
      body: 'INSERT INTO host_sums (agent_id, pending) SELECT n.id, 0 FROM new_rows AS n; RETURN NULL;',
    }),
  },
  {
    sqlite: `CREATE TRIGGER updates_pending_insert AFTER INSERT ON updates WHEN ${waits('NEW')}
      BEGIN ${add('NEW', '1')}; END`,
    postgres: addAll('insert', {
      rows: 'NEW TABLE AS new_rows',
      from: 'new_rows AS n',
      amount: isPending('n'),
    }),
  },
  {
    sqlite: `CREATE TRIGGER updates_pending_update AFTER UPDATE OF state, recommended ON updates
      WHEN (${waits('OLD')}) <> (${waits('NEW')})
      BEGIN ${add('NEW', `${isPending('NEW')} - ${isPending('OLD')}`)}; END`,
    postgres: addAll('update', {
      rows: 'OLD TABLE AS old_rows NEW TABLE AS new_rows',
      from: 'new_rows AS n JOIN old_rows AS o ON o.id = n.id AND (o.state <> n.state OR o.recommended <> n.recommended)',
      amount: `(${isPending('n')} - ${isPending('o')})`,
    }),
  },
  {
    sqlite: `CREATE TRIGGER updates_pending_delete AFTER DELETE ON updates WHEN ${waits('OLD')}
      BEGIN ${add('OLD', '-1')}; END`,
    postgres: addAll('delete', {
      rows: 'OLD TABLE AS old_rows',
      from: 'old_rows AS n',
      amount: `-${isPending('n')}`,
    }),
  },
];
