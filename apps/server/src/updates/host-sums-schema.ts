import { HOT_ROWS, perEngine, postgresTrigger, type Statement } from '../platform/db/statement.ts';
import { RECOMMENDED_HERE } from './offer-rules.ts';
import { EXPLOITED_FIX, SEVERITIES_RISING } from './queue-rules.ts';

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

const rankOf = (severity: string) => 1 + SEVERITIES_RISING.indexOf(severity);
const isRated = (row: string, severity: string) =>
  `${row}.fix_rank IN (${rankOf(severity)}, ${EXPLOITED_FIX + rankOf(severity)})`;

/** What the pending updates of a host fix: the columns of a sum, and the updates that count in each. */
export const FIX_COUNTS: readonly (readonly [column: string, condition: (row: string) => string])[] = [
  ['exploited', (row) => `${row}.fix_rank > ${EXPLOITED_FIX}`],
  ['critical', (row) => isRated(row, 'critical')],
  ['high', (row) => isRated(row, 'high')],
  ['fixing', (row) => `${row}.fix_rank > 0`],
  ['judged', (row) => `${row}.fix_rank >= 0`],
];

const counts = (row: string) =>
  FIX_COUNTS.map(([, condition]) => `CASE WHEN ${condition(row)} THEN 1 ELSE 0 END`);
const countsWhile = (row: string) =>
  counts(row).map((count) => `CASE WHEN ${waits(row)} THEN ${count} ELSE 0 END`);
/** Reports bring updates that are not judged yet: they change no sum. */
const isCounted = (row: string) => `${waits(row)} AND ${row}.fix_rank >= 0`;
const changes = countsWhile('NEW').map((count, i) => `(${count}) - (${countsWhile('OLD')[i]})`);
const changesOf = countsWhile('n').map((count, i) => `(${count}) - (${countsWhile('o')[i]})`);

const addCounts = (row: string, amounts: readonly string[]) =>
  `UPDATE host_sums SET ${FIX_COUNTS.map(([column], i) => `${column} = ${column} + ${amounts[i]}`).join(', ')}
    WHERE agent_id = ${row}.agent_id`;

function addAllCounts(
  act: 'insert' | 'update' | 'delete',
  { rows, from, amounts }: { rows: string; from: string; amounts: readonly string[] },
): string {
  const columns = FIX_COUNTS.map(([column]) => column);
  return postgresTrigger(`updates_fixing_${act}`, {
    on: `AFTER ${act.toUpperCase()} ON updates REFERENCING ${rows} FOR EACH STATEMENT`,
    body: `INSERT INTO host_sums (agent_id, pending, ${columns.join(', ')})
      SELECT n.agent_id, 0, ${amounts.map((amount) => `sum(${amount})`).join(', ')} FROM ${from}
      GROUP BY n.agent_id ORDER BY n.agent_id
      ON CONFLICT (agent_id) DO UPDATE SET ${columns.map((one) => `${one} = host_sums.${one} + excluded.${one}`).join(', ')};
      RETURN NULL;`,
  });
}

/** Hosts by what their pending updates fix, so that a list of them finds the most urgent ones by an index. */
export const HOST_URGENCY: readonly Statement[] = [
  ...FIX_COUNTS.map(([column]) => `ALTER TABLE host_sums ADD COLUMN ${column} BIGINT NOT NULL DEFAULT 0`),
  `UPDATE host_sums SET ${FIX_COUNTS.map(([column]) => `${column} = s.${column}`).join(', ')}
    FROM (SELECT u.agent_id, ${counts('u')
      .map((count, i) => `sum(${count}) AS ${FIX_COUNTS[i]?.[0]}`)
      .join(
        ', ',
      )} FROM updates AS u WHERE ${waits('u')} GROUP BY u.agent_id) AS s WHERE s.agent_id = host_sums.agent_id`,
  'CREATE INDEX host_sums_by_urgency ON host_sums (exploited, critical, high, fixing, agent_id)',
  // The state as no other index has it, so that lists which count by host read nothing but this one.
  `CREATE INDEX updates_by_host ON updates (agent_id, state, recommended, fix_rank, ecosystem, security, severity, verdict,
    known_exploited, discovered_at, host_os_id, introduces, stays, fixes, fixes_severity, fixes_exploited, offers)
    WHERE gone = 0 AND state || '' = 'pending'`,
  {
    sqlite: `CREATE TRIGGER updates_fixing_insert AFTER INSERT ON updates WHEN ${isCounted('NEW')}
      BEGIN ${addCounts('NEW', counts('NEW'))}; END`,
    postgres: addAllCounts('insert', {
      rows: 'NEW TABLE AS new_rows',
      from: `new_rows AS n WHERE ${isCounted('n')}`,
      amounts: counts('n'),
    }),
  },
  {
    sqlite: `CREATE TRIGGER updates_fixing_update AFTER UPDATE OF state, recommended, fix_rank ON updates
      WHEN ((${waits('OLD')}) <> (${waits('NEW')}) OR OLD.fix_rank <> NEW.fix_rank) AND (${isCounted('OLD')} OR ${isCounted('NEW')})
      BEGIN ${addCounts('NEW', changes)}; END`,
    postgres: addAllCounts('update', {
      rows: 'OLD TABLE AS old_rows NEW TABLE AS new_rows',
      from: `new_rows AS n JOIN old_rows AS o ON o.id = n.id WHERE
        ((${waits('o')}) <> (${waits('n')}) OR o.fix_rank <> n.fix_rank) AND (${isCounted('o')} OR ${isCounted('n')})`,
      amounts: changesOf,
    }),
  },
  {
    sqlite: `CREATE TRIGGER updates_fixing_delete AFTER DELETE ON updates WHEN ${isCounted('OLD')}
      BEGIN ${addCounts(
        'OLD',
        counts('OLD').map((count) => `-(${count})`),
      )}; END`,
    postgres: addAllCounts('delete', {
      rows: 'OLD TABLE AS old_rows',
      from: `old_rows AS n WHERE ${isCounted('n')}`,
      amounts: counts('n').map((count) => `-(${count})`),
    }),
  },
];
