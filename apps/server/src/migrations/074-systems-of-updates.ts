import type { Migration } from '../platform/db/migrate.ts';

const SYSTEM_OF_HOST = `COALESCE((SELECT a.os_id FROM agents AS a WHERE a.id = NEW.agent_id), '')`;
/** Those of migration 70 that are walked over for the updates of one system. */
const INDEXES = {
  updates_by_discovery: `state, discovered_at, id, severity, verdict, security, known_exploited, ecosystem, name,
    agent_id, updated_at, host_os_id`,
  updates_by_name: 'state, name, id, ecosystem, agent_id, host_os_id',
  updates_by_package: `ecosystem, name, agent_id, state, security, severity, verdict, known_exploited,
    available_version, discovered_at, host_os_id`,
};

export const migration: Migration = {
  version: 74,
  name: 'systems-of-updates',
  statements: [
    // The system of the host: most hosts have one of two or three, and a look at the host of each row took most of the time.
    `ALTER TABLE updates ADD COLUMN host_os_id TEXT NOT NULL DEFAULT ''`,
    ...Object.keys(INDEXES).map((name) => `DROP INDEX ${name}`),
    'UPDATE updates SET host_os_id = a.os_id FROM agents AS a WHERE a.id = updates.agent_id',
    ...Object.entries(INDEXES).map(
      ([name, columns]) => `CREATE INDEX ${name} ON updates (${columns}) WHERE gone = 0`,
    ),
    // The database keeps it, whichever statement writes.
    {
      sqlite: `CREATE TRIGGER updates_of_system AFTER INSERT ON updates WHEN NEW.host_os_id <> ${SYSTEM_OF_HOST}
        BEGIN UPDATE updates SET host_os_id = ${SYSTEM_OF_HOST} WHERE id = NEW.id; END`,
      postgres: `CREATE FUNCTION updates_of_system() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          NEW.host_os_id := ${SYSTEM_OF_HOST};
          RETURN NEW;
        END $$;
        CREATE TRIGGER updates_of_system BEFORE INSERT ON updates FOR EACH ROW EXECUTE FUNCTION updates_of_system()`,
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
