import type { Generated } from 'kysely';
import { BY_KEY, perEngine, type Statement } from '../platform/db/statement.ts';

/**
 * Drawn at random on PostgreSQL: a restored backup needs no counter, and numbers that a host wastes are not used up. SQLite
 * takes the number after the highest.
 */
const NUMBER = {
  sqlite: 'INTEGER PRIMARY KEY',
  postgres: 'INTEGER PRIMARY KEY DEFAULT floor(random() * 2147483647)::integer + 1',
};

/**
 * Packages of hosts (decision 0090): what is said of a package is stored once, and that a host has it takes a few bytes. Rows of
 * 100,000 hosts refer to the others without foreign keys: they would double the cost of a report on PostgreSQL.
 */
export const INSTALLED: readonly Statement[] = [
  perEngine`CREATE TABLE package_identities (
    id ${NUMBER},
    digest TEXT NOT NULL UNIQUE,
    ecosystem TEXT NOT NULL,
    name TEXT NOT NULL,
    arch TEXT NOT NULL,
    version TEXT NOT NULL,
    source_name TEXT,
    source_version TEXT,
    origin TEXT,
    unused_since BIGINT
  )`,
  'CREATE INDEX package_identities_name ON package_identities (ecosystem, name, version)',

  perEngine`CREATE TABLE inventory_agents (
    number ${NUMBER},
    agent_id TEXT NOT NULL UNIQUE REFERENCES agents (id),
    changes INTEGER NOT NULL DEFAULT 0
  )`,

  perEngine`CREATE TABLE installed_packages (
    agent_number INTEGER NOT NULL,
    name_key INTEGER NOT NULL,
    package_id INTEGER NOT NULL,
    held SMALLINT NOT NULL,
    PRIMARY KEY (agent_number, name_key, package_id)
  )${BY_KEY}`,

  perEngine`CREATE TABLE inventory_changes (
    agent_number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    package_id INTEGER NOT NULL,
    change SMALLINT NOT NULL,
    held SMALLINT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (agent_number, position)
  )${BY_KEY}`,
  'CREATE INDEX inventory_changes_package ON inventory_changes (package_id)',
  'ALTER TABLE inventory_reports ADD COLUMN changes_since BIGINT',

  // SQLite keeps the order of these joins: it starts at the host, without statistics.
  `CREATE VIEW host_packages AS
    SELECT h.agent_id, p.ecosystem, p.name, p.arch, p.version, p.source_name, p.source_version, p.origin, i.held,
      i.name_key, i.package_id
    FROM inventory_agents AS h
    CROSS JOIN installed_packages AS i
    CROSS JOIN package_identities AS p
    WHERE i.agent_number = h.number AND p.id = i.package_id`,
];

/** After the rows of the first release were moved; the index is built faster when they are there. */
export const INSTALLED_MOVED: readonly Statement[] = [
  'DROP TABLE agent_packages',
  'CREATE INDEX installed_packages_package ON installed_packages (package_id, agent_number)',
  'UPDATE inventory_reports SET changes_since = received_at WHERE writing IS NULL',
];

/**
 * PostgreSQL keeps each tree beside the rows. Each has what its questions start with, and no third column: one is unique without, and
 * of the packages of a host or name the rows lie side by side (decision 0114). SQLite has the rows in the tree of the host.
 */
export const NARROW_KEYS: readonly Statement[] = [
  { postgres: 'ALTER TABLE installed_packages DROP CONSTRAINT installed_packages_pkey' },
  { postgres: 'DROP INDEX installed_packages_package' },
  { postgres: 'ALTER TABLE installed_packages ADD PRIMARY KEY (package_id, agent_number)' },
  { postgres: 'CREATE INDEX installed_packages_host ON installed_packages (agent_number, name_key)' },
];

/** A new version of a package is one row of the history: half of what two take (decision 0114). */
export const REPLACED_PACKAGES: readonly Statement[] = [
  'ALTER TABLE inventory_changes ADD COLUMN replaced_id INTEGER',
  'CREATE INDEX inventory_changes_replaced ON inventory_changes (replaced_id) WHERE replaced_id IS NOT NULL',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    package_identities: {
      id: Generated<number>;
      digest: string;
      ecosystem: string;
      name: string;
      arch: string;
      version: string;
      source_name: string | null;
      source_version: string | null;
      origin: string | null;
      /** Since when no host has it, as the sweep found; null: in use, or not looked at yet. */
      unused_since: number | null;
    };
    inventory_agents: {
      number: Generated<number>;
      agent_id: string;
      /** The position of the newest change. */
      changes: Generated<number>;
    };
    installed_packages: {
      agent_number: number;
      name_key: number;
      package_id: number;
      held: number;
    };
    inventory_changes: {
      agent_number: number;
      position: number;
      package_id: number;
      change: number;
      /** Whether it was held after the change; of a removed package, before it. */
      held: number;
      changed_at: number;
      /** The package that was removed just before, at the position before; a release before this column had a row for it. */
      replaced_id: number | null;
    };
    /** A view: what each host has installed. */
    host_packages: {
      agent_id: string;
      ecosystem: string;
      name: string;
      arch: string;
      version: string;
      source_name: string | null;
      source_version: string | null;
      origin: string | null;
      held: number;
      name_key: number;
      package_id: number;
    };
  }
}
