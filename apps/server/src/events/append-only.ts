import { type PerEngine, postgresTrigger, type Statement } from '../platform/db/statement.ts';

/** Changes of the log that the database refuses to every client, with the error message. */
const REFUSED = {
  change: 'events are append-only: a row is never changed',
  removal: 'events are append-only: only rows up to the newest anchor are removed',
  checkpointChange: 'checkpoints are never changed',
  checkpointRemoval: 'only checkpoints before the newest anchor are removed',
  anchor: 'an anchor is a checkpoint further on, and is never changed or removed',
};

const NEWEST_ANCHOR = '(SELECT coalesce(max(position), 0) FROM event_anchors)';
const BAD_ANCHOR = `NEW.position <= ${NEWEST_ANCHOR} OR NOT EXISTS (SELECT 1 FROM event_checkpoints c
  WHERE c.position = NEW.position AND c.hash = NEW.hash AND c.envelope = NEW.envelope)`;

interface Guard {
  name: string;
  table: string;
  act: 'UPDATE' | 'DELETE' | 'INSERT';
  /** The refused rows; default: all. */
  when?: string;
  message: string;
}

const GUARDS: readonly Guard[] = [
  { name: 'events_no_update', table: 'events', act: 'UPDATE', message: REFUSED.change },
  {
    name: 'events_no_delete',
    table: 'events',
    act: 'DELETE',
    when: `OLD.position > ${NEWEST_ANCHOR}`,
    message: REFUSED.removal,
  },
  {
    name: 'event_checkpoints_no_update',
    table: 'event_checkpoints',
    act: 'UPDATE',
    message: REFUSED.checkpointChange,
  },
  {
    name: 'event_checkpoints_no_delete',
    table: 'event_checkpoints',
    act: 'DELETE',
    when: `OLD.position >= ${NEWEST_ANCHOR}`,
    message: REFUSED.checkpointRemoval,
  },
  {
    name: 'event_anchors_insert',
    table: 'event_anchors',
    act: 'INSERT',
    when: BAD_ANCHOR,
    message: REFUSED.anchor,
  },
  { name: 'event_anchors_no_update', table: 'event_anchors', act: 'UPDATE', message: REFUSED.anchor },
  { name: 'event_anchors_no_delete', table: 'event_anchors', act: 'DELETE', message: REFUSED.anchor },
];

const TRUNCATED: readonly (readonly [table: string, message: string])[] = [
  ['events', REFUSED.removal],
  ['event_checkpoints', REFUSED.checkpointRemoval],
  ['event_anchors', REFUSED.anchor],
];

/** INSERT OR REPLACE removes a row without firing delete triggers; PostgreSQL has nothing like it. */
const NO_REPLACE: Statement = {
  sqlite: `CREATE TRIGGER events_no_replace BEFORE INSERT ON events
    WHEN EXISTS (SELECT 1 FROM events WHERE position = NEW.position OR id = NEW.id)
    BEGIN SELECT RAISE(ABORT, '${REFUSED.change}'); END`,
};

/** The triggers that make the database itself refuse a change to the log (16.4.2). */
export const APPEND_ONLY: readonly Statement[] = [
  ...GUARDS.map(rowGuard),
  ...TRUNCATED.map(truncateGuard),
  NO_REPLACE,
];

function rowGuard({ name, table, act, when, message }: Guard): PerEngine {
  const whenever = when === undefined ? '' : `WHEN ${when} `;
  const refused = when === undefined ? raise(message) : `IF ${when} THEN ${raise(message)} END IF;`;
  return {
    sqlite: `CREATE TRIGGER ${name} BEFORE ${act} ON ${table} ${whenever}BEGIN SELECT RAISE(ABORT, '${message}'); END`,
    postgres: postgresTrigger(name, {
      on: `BEFORE ${act} ON ${table} FOR EACH ROW`,
      body: `${refused} RETURN ${act === 'DELETE' ? 'OLD' : 'NEW'};`,
    }),
  };
}

/** SQLite has no TRUNCATE: it is a DELETE, which the row triggers check. */
function truncateGuard([table, message]: readonly [table: string, message: string]): PerEngine {
  return {
    postgres: postgresTrigger(`${table}_no_truncate`, {
      on: `BEFORE TRUNCATE ON ${table} FOR EACH STATEMENT`,
      body: raise(message),
    }),
  };
}

function raise(message: string): string {
  return `RAISE EXCEPTION '${message}' USING ERRCODE = 'integrity_constraint_violation';`;
}
