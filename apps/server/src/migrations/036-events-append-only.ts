import type { Migration } from '../platform/db/migrate.ts';

/** What no statement may do to the log, whoever sends it; the message is what its sender reads. */
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
  when: string | null;
  message: string;
}

const GUARDS: readonly Guard[] = [
  { name: 'events_no_update', table: 'events', act: 'UPDATE', when: null, message: REFUSED.change },
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
    when: null,
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
  {
    name: 'event_anchors_no_update',
    table: 'event_anchors',
    act: 'UPDATE',
    when: null,
    message: REFUSED.anchor,
  },
  {
    name: 'event_anchors_no_delete',
    table: 'event_anchors',
    act: 'DELETE',
    when: null,
    message: REFUSED.anchor,
  },
];

const TRUNCATED: readonly [string, string][] = [
  ['events', REFUSED.removal],
  ['event_checkpoints', REFUSED.checkpointRemoval],
  ['event_anchors', REFUSED.anchor],
];

/** INSERT OR REPLACE removes a row without asking the guards of removal; PostgreSQL has nothing like it. */
const NO_REPLACE = {
  sqlite: `CREATE TRIGGER events_no_replace BEFORE INSERT ON events
    WHEN EXISTS (SELECT 1 FROM events WHERE position = NEW.position OR id = NEW.id)
    BEGIN SELECT RAISE(ABORT, '${REFUSED.change}'); END`,
  postgres: 'SELECT 1',
};

export const migration: Migration = {
  version: 36,
  name: 'events-append-only',
  statements: [...GUARDS.map(statementOf), ...TRUNCATED.map(truncateGuard), NO_REPLACE],
};

function statementOf({ name, table, act, when, message }: Guard): { sqlite: string; postgres: string } {
  const whenever = when === null ? '' : `WHEN ${when} `;
  const raise = `RAISE EXCEPTION '${message}' USING ERRCODE = 'integrity_constraint_violation';`;
  const unlessFine = when === null ? raise : `IF ${when} THEN ${raise} END IF;`;
  return {
    sqlite: `CREATE TRIGGER ${name} BEFORE ${act} ON ${table} ${whenever}BEGIN SELECT RAISE(ABORT, '${message}'); END`,
    postgres: `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN ${unlessFine} RETURN ${act === 'DELETE' ? 'OLD' : 'NEW'}; END $$;
      CREATE TRIGGER ${name} BEFORE ${act} ON ${table} FOR EACH ROW EXECUTE FUNCTION ${name}()`,
  };
}

/** SQLite has no TRUNCATE: there it is a DELETE, which the guards of the rows judge. */
function truncateGuard([table, message]: [string, string]): { sqlite: string; postgres: string } {
  const name = `${table}_no_truncate`;
  return {
    sqlite: 'SELECT 1',
    postgres: `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = 'integrity_constraint_violation'; END $$;
      CREATE TRIGGER ${name} BEFORE TRUNCATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`,
  };
}
