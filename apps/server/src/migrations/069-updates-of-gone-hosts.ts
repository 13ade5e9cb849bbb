import type { Migration } from '../platform/db/migrate.ts';

const IS_GONE = 'EXISTS (SELECT 1 FROM agents AS a WHERE a.id = NEW.agent_id AND a.deleted_at IS NOT NULL)';
const IS_AGAIN = `EXISTS (SELECT 1 FROM updates AS o WHERE o.agent_id = NEW.agent_id
  AND o.ecosystem = NEW.ecosystem AND o.name = NEW.name AND o.id <> NEW.id)`;

const SYSTEM_OF_HOST = `COALESCE((SELECT a.os_id FROM agents AS a WHERE a.id = NEW.agent_id), '')`;
const NEXT_IS_FIRST = `UPDATE updates SET again = 0 WHERE id = (SELECT min(o.id) FROM updates AS o
  WHERE o.agent_id = OLD.agent_id AND o.ecosystem = OLD.ecosystem AND o.name = OLD.name)`;

const REBUILT = [
  'updates_by_discovery',
  'updates_by_change',
  'updates_by_name',
  'updates_by_severity',
  'updates_by_urgency',
  'updates_by_package',
];

export const migration: Migration = {
  version: 69,
  name: 'updates-of-gone-hosts',
  statements: [
    // Whether the host is deleted: lists leave such rows out without a look at the host of each.
    'ALTER TABLE updates ADD COLUMN gone INTEGER NOT NULL DEFAULT 0',
    // Whether the host had an update of the same package before, so that hosts can be counted by adding up.
    'ALTER TABLE updates ADD COLUMN again INTEGER NOT NULL DEFAULT 0',
    // The system of the host: most hosts have one of two or three, and a look at the host of each row took most of the time.
    `ALTER TABLE updates ADD COLUMN host_os_id TEXT NOT NULL DEFAULT ''`,
    // Every row is written: the indexes that are built again behind it (70) need not follow.
    ...REBUILT.map((name) => `DROP INDEX ${name}`),
    `UPDATE updates SET gone = CASE WHEN a.deleted_at IS NULL THEN 0 ELSE 1 END, host_os_id = a.os_id
      FROM agents AS a WHERE a.id = updates.agent_id`,
    `UPDATE updates SET again = 1 WHERE EXISTS (SELECT 1 FROM updates AS o WHERE o.agent_id = updates.agent_id
      AND o.ecosystem = updates.ecosystem AND o.name = updates.name AND o.id < updates.id)`,
    // The database keeps them, whichever statement writes; whoever inserts holds the host, so none comes in between.
    {
      sqlite: `CREATE TRIGGER updates_flags AFTER INSERT ON updates WHEN ${IS_GONE} OR ${IS_AGAIN}
        BEGIN UPDATE updates SET gone = ${IS_GONE}, again = ${IS_AGAIN} WHERE id = NEW.id; END`,
      postgres: `CREATE FUNCTION updates_flags() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          NEW.gone := CASE WHEN ${IS_GONE} THEN 1 ELSE 0 END;
          NEW.again := CASE WHEN ${IS_AGAIN} THEN 1 ELSE 0 END;
          NEW.host_os_id := ${SYSTEM_OF_HOST};
          RETURN NEW;
        END $$;
        CREATE TRIGGER updates_flags BEFORE INSERT ON updates FOR EACH ROW EXECUTE FUNCTION updates_flags()`,
    },
    {
      sqlite: `CREATE TRIGGER agents_deleted AFTER UPDATE OF deleted_at ON agents
        WHEN (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)
        BEGIN UPDATE updates SET gone = NEW.deleted_at IS NOT NULL WHERE agent_id = NEW.id; END`,
      postgres: `CREATE FUNCTION agents_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          UPDATE updates SET gone = CASE WHEN NEW.deleted_at IS NULL THEN 0 ELSE 1 END WHERE agent_id = NEW.id;
          RETURN NULL;
        END $$;
        CREATE TRIGGER agents_deleted AFTER UPDATE OF deleted_at ON agents FOR EACH ROW
          WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)) EXECUTE FUNCTION agents_deleted()`,
    },
    {
      sqlite: `CREATE TRIGGER updates_deleted AFTER DELETE ON updates WHEN OLD.again = 0 BEGIN ${NEXT_IS_FIRST}; END`,
      postgres: `CREATE FUNCTION updates_deleted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          ${NEXT_IS_FIRST}; RETURN NULL;
        END $$;
        CREATE TRIGGER updates_deleted AFTER DELETE ON updates FOR EACH ROW
          WHEN (OLD.again = 0) EXECUTE FUNCTION updates_deleted()`,
    },
    {
      sqlite: `CREATE TRIGGER updates_of_system AFTER INSERT ON updates WHEN NEW.host_os_id <> ${SYSTEM_OF_HOST}
        BEGIN UPDATE updates SET host_os_id = ${SYSTEM_OF_HOST} WHERE id = NEW.id; END`,
      postgres: 'SELECT 1',
    },
    {
      sqlite: `CREATE TRIGGER agents_changed_system AFTER UPDATE OF os_id ON agents WHEN OLD.os_id <> NEW.os_id
        BEGIN UPDATE updates SET host_os_id = NEW.os_id WHERE agent_id = NEW.id; END`,
      postgres: `CREATE FUNCTION agents_changed_system() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          UPDATE updates SET host_os_id = NEW.os_id WHERE agent_id = NEW.id;
          RETURN NULL;
        END $$;
        CREATE TRIGGER agents_changed_system AFTER UPDATE OF os_id ON agents FOR EACH ROW
          WHEN (OLD.os_id <> NEW.os_id) EXECUTE FUNCTION agents_changed_system()`,
    },
  ],
};
