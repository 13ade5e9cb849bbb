import type { Migration } from '../platform/db/migrate.ts';

const IS_GONE = 'EXISTS (SELECT 1 FROM agents AS a WHERE a.id = NEW.agent_id AND a.deleted_at IS NOT NULL)';
const IS_AGAIN = `EXISTS (SELECT 1 FROM updates AS o WHERE o.agent_id = NEW.agent_id
  AND o.ecosystem = NEW.ecosystem AND o.name = NEW.name AND o.id <> NEW.id)`;

const NEXT_IS_FIRST = `UPDATE updates SET again = 0 WHERE id = (SELECT min(o.id) FROM updates AS o
  WHERE o.agent_id = OLD.agent_id AND o.ecosystem = OLD.ecosystem AND o.name = OLD.name)`;

export const migration: Migration = {
  version: 69,
  name: 'updates-of-gone-hosts',
  statements: [
    // Whether the host is deleted: lists leave such rows out without a look at the host of each.
    'ALTER TABLE updates ADD COLUMN gone INTEGER NOT NULL DEFAULT 0',
    // Whether the host had an update of the same package before, so that hosts can be counted by adding up.
    'ALTER TABLE updates ADD COLUMN again INTEGER NOT NULL DEFAULT 0',
    'UPDATE updates SET gone = 1 WHERE agent_id IN (SELECT id FROM agents WHERE deleted_at IS NOT NULL)',
    `UPDATE updates SET again = 1 WHERE EXISTS (SELECT 1 FROM updates AS o WHERE o.agent_id = updates.agent_id
      AND o.ecosystem = updates.ecosystem AND o.name = updates.name AND o.id < updates.id)`,
    // The database keeps both, whichever statement writes; whoever inserts holds the host, so none comes in between.
    {
      sqlite: `CREATE TRIGGER updates_flags AFTER INSERT ON updates WHEN ${IS_GONE} OR ${IS_AGAIN}
        BEGIN UPDATE updates SET gone = ${IS_GONE}, again = ${IS_AGAIN} WHERE id = NEW.id; END`,
      postgres: `CREATE FUNCTION updates_flags() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          NEW.gone := CASE WHEN ${IS_GONE} THEN 1 ELSE 0 END;
          NEW.again := CASE WHEN ${IS_AGAIN} THEN 1 ELSE 0 END;
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
  ],
};
