import { postgresTrigger, type Statement } from '../platform/db/statement.ts';

// Updates copy the host columns that lists filter by: reading the host of every row took most of the time.
// Triggers keep them for every statement; inserts lock the host, so no change of the host comes in between.

/** Whether the host of a new update is deleted: lists omit such rows. */
export const IS_GONE =
  'EXISTS (SELECT 1 FROM agents AS a WHERE a.id = NEW.agent_id AND a.deleted_at IS NOT NULL)';
/** Whether the host had an update of the package before: first ones are as many as the hosts. */
export const IS_AGAIN = `EXISTS (SELECT 1 FROM updates AS o WHERE o.agent_id = NEW.agent_id
  AND o.ecosystem = NEW.ecosystem AND o.name = NEW.name AND o.id <> NEW.id)`;
const SYSTEM_OF_HOST = `COALESCE((SELECT a.os_id FROM agents AS a WHERE a.id = NEW.agent_id), '')`;
const NEXT_IS_FIRST = `UPDATE updates SET again = 0 WHERE id = (SELECT min(o.id) FROM updates AS o
  WHERE o.agent_id = OLD.agent_id AND o.ecosystem = OLD.ecosystem AND o.name = OLD.name)`;

/** A function caches the plan from when a table had few rows, and would then scan all of it for every row. */
const BY_INDEX = 'SET enable_seqscan = off';

export const HOST_FLAGS: readonly Statement[] = [
  // SQLite sets the first two after the sums (package-sums-schema.ts).
  {
    sqlite: `CREATE TRIGGER updates_of_system AFTER INSERT ON updates WHEN NEW.host_os_id <> ${SYSTEM_OF_HOST}
      BEGIN UPDATE updates SET host_os_id = ${SYSTEM_OF_HOST} WHERE id = NEW.id; END`,
    postgres: postgresTrigger('updates_flags', {
      on: 'BEFORE INSERT ON updates FOR EACH ROW',
      set: BY_INDEX,
      body: `NEW.gone := CASE WHEN ${IS_GONE} THEN 1 ELSE 0 END;
        NEW.again := CASE WHEN ${IS_AGAIN} THEN 1 ELSE 0 END;
        NEW.host_os_id := ${SYSTEM_OF_HOST};
        RETURN NEW;`,
    }),
  },
  {
    sqlite: `CREATE TRIGGER updates_deleted AFTER DELETE ON updates WHEN OLD.again = 0 BEGIN ${NEXT_IS_FIRST}; END`,
    postgres: postgresTrigger('updates_deleted', {
      on: 'AFTER DELETE ON updates FOR EACH ROW WHEN (OLD.again = 0)',
      set: BY_INDEX,
      body: `${NEXT_IS_FIRST}; RETURN NULL;`,
    }),
  },
  {
    sqlite: `CREATE TRIGGER agents_deleted AFTER UPDATE OF deleted_at ON agents
      WHEN (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)
      BEGIN UPDATE updates SET gone = NEW.deleted_at IS NOT NULL WHERE agent_id = NEW.id; END`,
    postgres: postgresTrigger('agents_deleted', {
      on: `AFTER UPDATE OF deleted_at ON agents FOR EACH ROW
        WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))`,
      set: BY_INDEX,
      body: `UPDATE updates SET gone = CASE WHEN NEW.deleted_at IS NULL THEN 0 ELSE 1 END WHERE agent_id = NEW.id;
        RETURN NULL;`,
    }),
  },
  {
    sqlite: `CREATE TRIGGER agents_changed_system AFTER UPDATE OF os_id ON agents WHEN OLD.os_id <> NEW.os_id
      BEGIN UPDATE updates SET host_os_id = NEW.os_id WHERE agent_id = NEW.id; END`,
    postgres: postgresTrigger('agents_changed_system', {
      on: 'AFTER UPDATE OF os_id ON agents FOR EACH ROW WHEN (OLD.os_id <> NEW.os_id)',
      set: BY_INDEX,
      body: 'UPDATE updates SET host_os_id = NEW.os_id WHERE agent_id = NEW.id; RETURN NULL;',
    }),
  },
];
