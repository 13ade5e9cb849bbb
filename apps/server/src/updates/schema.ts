import type { Generated } from 'kysely';
import type { SealColumn } from '../platform/db/seal.ts';
import {
  BY_KEY,
  BYTEWISE,
  LISTED,
  perEngine,
  postgresTrigger,
  type Statement,
} from '../platform/db/statement.ts';
import { HOST_FLAGS } from './host-flags-schema.ts';
import { HOST_SUMS } from './host-sums-schema.ts';
import { PACKAGE_SUMS } from './package-sums-schema.ts';

const SEVERITY_RANK = `(CASE severity WHEN 'critical' THEN 6 WHEN 'high' THEN 5 WHEN 'medium' THEN 4 WHEN 'low' THEN 3
  WHEN 'none' THEN 2 WHEN 'unknown' THEN 1 END)`;

/**
 * Each order of the queue within each state: a list of all states merges the beginnings of eight ranges. The
 * last columns are for filters, so that rows that do not match are skipped without reading them.
 */
const LISTS = {
  updates_by_discovery: `state, discovered_at, id, severity, verdict, security, known_exploited, ecosystem, name,
    agent_id, updated_at, host_os_id, introduces, stays, fixes, recommended`,
  updates_by_change: 'state, updated_at, id, discovered_at',
  updates_by_name: 'state, name, id, ecosystem, agent_id, host_os_id',
  updates_by_severity: `state, ${SEVERITY_RANK}, id, verdict`,
  updates_by_urgency: 'state, queue_rank, discovered_at, id, verdict, severity',
  updates_by_package: `ecosystem, name, agent_id, state, security, severity, verdict, known_exploited,
    available_version, discovered_at, host_os_id, recommended`,
  // The newest update of a package is the end of a range of it.
  updates_newest: 'ecosystem, name, discovered_at',
};

/** Expressions of lists without an index: PostgreSQL assumes them to be rare unless it has statistics. */
const ASKED = [
  "state || ''",
  "ecosystem || ''",
  "name || ''",
  "agent_id || ''",
  'discovered_at + 0',
  'lower(name)',
];

export const schema: readonly Statement[] = [
  perEngine`CREATE TABLE updates (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    ecosystem TEXT${BYTEWISE} NOT NULL,
    name TEXT${BYTEWISE} NOT NULL,
    arch TEXT NOT NULL,
    current_version TEXT NOT NULL,
    available_version TEXT NOT NULL,
    origin TEXT,
    security INTEGER NOT NULL DEFAULT 0,
    size_bytes BIGINT,
    offers INTEGER NOT NULL DEFAULT 0,
    change TEXT,
    recommended INTEGER NOT NULL DEFAULT 15,
    state TEXT${BYTEWISE} NOT NULL CHECK (state IN
      ('pending', 'awaiting_plan', 'approved', 'installing', 'installed', 'failed', 'rejected', 'superseded')),
    state_reason TEXT,
    out_of_band INTEGER NOT NULL DEFAULT 0,
    plan_id TEXT,
    approval_id TEXT,
    not_before BIGINT,
    taken_back INTEGER NOT NULL DEFAULT 0,
    rollback_of TEXT,
    verdict TEXT${BYTEWISE},
    severity TEXT${BYTEWISE},
    known_exploited INTEGER,
    epss DOUBLE PRECISION,
    queue_rank BIGINT,
    introduces INTEGER,
    stays INTEGER,
    fixes INTEGER,
    stopped_under TEXT${BYTEWISE},
    judged_at BIGINT,
    discovered_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0,
    again INTEGER NOT NULL DEFAULT 0,
    host_os_id TEXT NOT NULL DEFAULT ''
  )${LISTED}`,
  // A closed version may be offered again, as a new row: only open rows are unique.
  `CREATE UNIQUE INDEX updates_open ON updates (agent_id, ecosystem, name, arch, available_version,
    (CASE WHEN rollback_of IS NULL THEN '' ELSE id END)) WHERE state NOT IN ('installed', 'superseded')`,
  // An installation is undone once at a time.
  `CREATE UNIQUE INDEX updates_rollback ON updates (rollback_of)
    WHERE rollback_of IS NOT NULL AND state NOT IN ('installed', 'superseded', 'rejected')`,
  'CREATE INDEX updates_state ON updates (state, id)',
  // What policies look at, host by host.
  "CREATE INDEX updates_waiting ON updates (agent_id, id) WHERE state = 'pending' AND gone = 0",
  // For each new row a trigger asks if its host had an update of the package before. Without the name in the
  // index it reads all updates of the host, for every row of a report.
  'CREATE INDEX updates_agent ON updates (agent_id, ecosystem, name, id)',
  // Replicas detect changes by these: when a row was last written, and last judged.
  'CREATE INDEX updates_updated ON updates (updated_at)',
  'CREATE INDEX updates_judged ON updates (judged_at) WHERE judged_at IS NOT NULL',
  // All columns that the overview counts, with their age: it never reads the rows.
  'CREATE INDEX updates_counted ON updates (state, discovered_at, verdict, known_exploited, fixes, recommended)',
  // The open updates that one transaction brings.
  `CREATE INDEX updates_siblings ON updates (plan_id, state)
    WHERE plan_id IS NOT NULL AND state IN ('pending', 'awaiting_plan')`,
  // How many open updates each vulnerability policy stops.
  'CREATE INDEX updates_stopped ON updates (state, stopped_under, recommended) WHERE gone = 0',
  ...Object.entries(LISTS).map(
    ([name, columns]) => `CREATE INDEX ${name} ON updates (${columns}) WHERE gone = 0`,
  ),
  ...ASKED.map((expression, i) => ({
    postgres: `CREATE STATISTICS updates_asked_${i + 1} ON (${expression}) FROM updates`,
  })),

  `CREATE TABLE update_plans (
    id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (id),
    resolved_at BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    actions TEXT NOT NULL,
    plan_sha256 TEXT NOT NULL
  )`,
  'CREATE INDEX update_plans_actions ON update_plans (agent_id, plan_sha256)',
  // The newest plan of each set of several updates (`setDigest`); several sets may have the same.
  `CREATE TABLE plan_sets (
    set_sha256 TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES update_plans (id),
    set_at BIGINT NOT NULL
  )`,
  'CREATE INDEX plan_sets_plan ON plan_sets (plan_id)',

  // What each rollback undoes: its plan has these actions and no others.
  `CREATE TABLE rollbacks (
    update_id TEXT PRIMARY KEY REFERENCES updates (id) ON DELETE CASCADE,
    token_id TEXT NOT NULL,
    actions TEXT NOT NULL,
    seal TEXT
  )`,

  `CREATE TABLE update_history (
    id TEXT PRIMARY KEY,
    update_id TEXT NOT NULL REFERENCES updates (id),
    at BIGINT NOT NULL,
    from_state TEXT,
    to_state TEXT NOT NULL,
    reason TEXT,
    actor TEXT NOT NULL
  )`,
  'CREATE INDEX update_history_update ON update_history (update_id, id)',

  // The versions that the registries have for the npm and PyPI packages of a host, and the smallest that is a fix.
  perEngine`CREATE TABLE update_candidates (
    agent_id TEXT NOT NULL REFERENCES agents (id),
    ecosystem TEXT${BYTEWISE} NOT NULL,
    name TEXT${BYTEWISE} NOT NULL,
    arch TEXT${BYTEWISE} NOT NULL,
    current_version TEXT NOT NULL,
    versions TEXT NOT NULL,
    fix_version TEXT,
    checked_at BIGINT,
    PRIMARY KEY (agent_id, ecosystem, name, arch)
  )${BY_KEY}`,
  'CREATE INDEX update_candidates_new ON update_candidates (agent_id, ecosystem, name, arch) WHERE checked_at IS NULL',

  // Every name that an update ever had: a search for a part of a name scans these instead of the updates.
  perEngine`CREATE TABLE update_names (
    ecosystem TEXT${BYTEWISE} NOT NULL,
    name TEXT${BYTEWISE} NOT NULL,
    PRIMARY KEY (name, ecosystem)
  )${BY_KEY}`,
  { postgres: 'CREATE STATISTICS update_names_asked_1 ON (lower(name)) FROM update_names' },

  ...HOST_FLAGS,
  ...PACKAGE_SUMS,
  ...HOST_SUMS,
];

/** The worst of what each update fixes, and the order of urgency: of equal ones the longest known comes first. */
export const FIX_URGENCY: readonly Statement[] = [
  perEngine`ALTER TABLE updates ADD COLUMN fixes_severity TEXT${BYTEWISE}`,
  'ALTER TABLE updates ADD COLUMN fixes_exploited INTEGER',
  'ALTER TABLE updates ADD COLUMN fix_rank INTEGER NOT NULL DEFAULT -1',
  `CREATE INDEX updates_by_fix ON updates (state, fix_rank, (-discovered_at), id, fixes_severity, fixes_exploited)
    WHERE gone = 0`,
];

/** Whether an update is a security update is counted too, and so has to be in the index that the overview counts from. */
export const COUNTED_SECURITY: readonly Statement[] = [
  'DROP INDEX updates_counted',
  'CREATE INDEX updates_counted ON updates (state, discovered_at, verdict, known_exploited, fixes, recommended, security)',
];

/** Which setting stops an update is counted too. */
export const COUNTED_STOPPED: readonly Statement[] = [
  'DROP INDEX updates_counted',
  `CREATE INDEX updates_counted ON updates (state, discovered_at, verdict, stopped_under, known_exploited, fixes, recommended,
    security)`,
];

const UNDER_WAY = ['awaiting_plan', 'approved', 'installing', 'failed'] as const;

/** Open, but not pending: what is decided, under way or failed is not done, and no hold keeps it back. As the index below has it. */
export const isUnderWay = (column: string) =>
  `${column} IN (${UNDER_WAY.map((state) => `'${state}'`).join(', ')})`;

/** Whether a host has any is asked of many hosts at once, and most of them have none. */
export const UNDER_WAY_BY_HOST: readonly Statement[] = [
  `CREATE INDEX updates_under_way ON updates (agent_id, state) WHERE ${isUnderWay('state')}`,
];

/** What the waiting updates of each package fix, and the same for lists of packages that are narrowed by other columns. */
export const PACKAGE_URGENCY: readonly Statement[] = [
  `CREATE INDEX updates_package_fix ON updates (ecosystem, name, fix_rank)
    WHERE gone = 0 AND state IN ('pending', 'awaiting_plan')`,
  'DROP INDEX updates_by_package',
  `CREATE INDEX updates_by_package ON updates (ecosystem, name, agent_id, state, security, severity, verdict, known_exploited,
    available_version, discovered_at, host_os_id, recommended, fix_rank) WHERE gone = 0`,
];

/** Whether the gate stopped an update: lists asked the records of the decisions about each row. A record may go, the flag stays. */
const BLOCKED_FLAG: readonly Statement[] = [
  'ALTER TABLE updates ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0',
  'UPDATE updates SET blocked = 1 WHERE id IN (SELECT update_id FROM decision_updates WHERE stopped = 1)',
  {
    sqlite: `CREATE TRIGGER decisions_blocked AFTER INSERT ON decision_updates WHEN NEW.stopped = 1
      BEGIN UPDATE updates SET blocked = 1 WHERE id = NEW.update_id AND blocked = 0; END`,
    // Locked in one order, as everywhere, so that two writers do not deadlock.
    postgres: postgresTrigger('decisions_blocked', {
      on: 'AFTER INSERT ON decision_updates REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT',
      body: `PERFORM 1 FROM updates WHERE id IN (SELECT n.update_id FROM new_rows AS n WHERE n.stopped = 1) AND blocked = 0
          ORDER BY id FOR NO KEY UPDATE;
        UPDATE updates SET blocked = 1 WHERE id IN (SELECT n.update_id FROM new_rows AS n WHERE n.stopped = 1) AND blocked = 0;
        RETURN NULL;`,
    }),
  },
  'CREATE INDEX updates_blocked ON updates (blocked, id) WHERE blocked = 1',
  'DROP INDEX decision_updates_stopped',
];

/** Every column that lists filter by is in the indexes that they count and walk: reading the rows took most of the time. */
export const LISTED_FILTERS: readonly Statement[] = [
  ...BLOCKED_FLAG,
  'DROP INDEX updates_by_discovery',
  `CREATE INDEX updates_by_discovery ON updates (state, discovered_at, id, severity, verdict, security, known_exploited, ecosystem,
    name, agent_id, updated_at, host_os_id, introduces, stays, fixes, recommended, fixes_severity, fixes_exploited, stopped_under,
    offers, blocked) WHERE gone = 0`,
  'DROP INDEX updates_by_package',
  `CREATE INDEX updates_by_package ON updates (ecosystem, name, agent_id, state, security, severity, verdict, known_exploited,
    available_version, discovered_at, host_os_id, recommended, fix_rank, introduces, stays, fixes, fixes_severity, fixes_exploited,
    stopped_under, offers, blocked) WHERE gone = 0`,
  'DROP INDEX updates_by_host',
  `CREATE INDEX updates_by_host ON updates (agent_id, state, recommended, fix_rank, ecosystem, security, severity, verdict,
    known_exploited, discovered_at, host_os_id, introduces, stays, fixes, fixes_severity, fixes_exploited, offers, stopped_under,
    blocked) WHERE gone = 0 AND state || '' = 'pending'`,
  'DROP INDEX updates_by_severity',
  `CREATE INDEX updates_by_severity ON updates (state, ${SEVERITY_RANK}, id, verdict, introduces, stays, fixes) WHERE gone = 0`,
];

/**
 * The same of the indexes that lists walk by name, severity, exploitation and urgency: a row is read once it is found. Where an
 * index has an expression, its column is there as well, or neither engine takes the index alone.
 */
export const WALKED_FILTERS: readonly Statement[] = Object.entries({
  updates_by_name: 'state, name, id, ecosystem, agent_id, host_os_id, recommended, offers',
  updates_by_severity: `state, ${SEVERITY_RANK}, id, verdict, introduces, stays, fixes, recommended, severity`,
  updates_by_urgency: 'state, queue_rank, discovered_at, id, verdict, severity, recommended',
  updates_by_fix:
    'state, fix_rank, (-discovered_at), id, fixes_severity, fixes_exploited, fixes, recommended, discovered_at',
}).flatMap(([name, columns]) => [
  `DROP INDEX ${name}`,
  `CREATE INDEX ${name} ON updates (${columns}) WHERE gone = 0`,
]);

/** A host can make up any number of closed updates, so that the last one of an offer is found without the others. */
export const LAST_CLOSED_OF_OFFERS: readonly Statement[] = [
  `CREATE INDEX updates_closed ON updates (agent_id, ecosystem, name, arch, available_version, id)
    WHERE rollback_of IS NULL AND state IN ('installed', 'superseded')`,
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    updates: {
      id: string;
      agent_id: string;
      ecosystem: string;
      name: string;
      arch: string;
      current_version: string;
      available_version: string;
      origin: string | null;
      security: number;
      size_bytes: number | null;
      /** npm and PyPI: why the version is offered (`offerBits`); 0 elsewhere. */
      offers: Generated<number>;
      /** npm and PyPI: how far it is from the installed version; null: not known, or another ecosystem. */
      change: 'patch' | 'minor' | 'major' | null;
      /** Under which settings it is the recommended version of its package (`recommend`); 15: under all. */
      recommended: Generated<number>;
      state: string;
      state_reason: string | null;
      out_of_band: number;
      plan_id: string | null;
      approval_id: string | null;
      not_before: number | null;
      /** A person has taken its approval back: policies leave it to people. */
      taken_back: Generated<number>;
      /** The approval whose installation it undoes; null: it is no rollback. */
      rollback_of: string | null;
      /** The badge of the newest verdict, for lists and filters; no decision depends on it (A1, A8). */
      verdict: string | null;
      severity: string | null;
      /** From the feeds, for vulnerabilities it fixes or brings; null: unknown. Only for the order. */
      known_exploited: number | null;
      epss: number | null;
      /** Of `queueRank`. */
      queue_rank: number | null;
      /** Known vulnerabilities in each part of its verdict; null: not known. Only for lists and the overview. */
      introduces: number | null;
      stays: number | null;
      fixes: number | null;
      /** The worst severity of what it fixes, and whether that is known to be exploited; null: not known, or nothing. */
      fixes_severity: string | null;
      fixes_exploited: number | null;
      /** Of `fixRank`. */
      fix_rank: Generated<number>;
      /** The vulnerability policies that stop it: `any` is A1 to the letter alone; null: not judged. */
      stopped_under: 'introduced' | 'any' | 'neither' | null;
      /** When the badge last changed. */
      judged_at: number | null;
      discovered_at: number;
      updated_at: number;
      /** Kept by triggers (host-flags-schema.ts): its host is deleted. */
      gone: Generated<number>;
      /** Kept by triggers: its host had an update of the package before. */
      again: Generated<number>;
      /** Kept by triggers: the system of its host. */
      host_os_id: Generated<string>;
      /** Kept by a trigger: the gate stopped it when somebody asked for it. */
      blocked: Generated<number>;
    };
    update_plans: {
      id: string;
      agent_id: string;
      resolved_at: number;
      received_at: number;
      actions: string;
      plan_sha256: string;
    };
    rollbacks: { update_id: string; token_id: string; actions: string; seal: SealColumn };
    plan_sets: { set_sha256: string; plan_id: string; set_at: number };
    update_history: {
      id: string;
      update_id: string;
      at: number;
      from_state: string | null;
      to_state: string;
      reason: string | null;
      actor: string;
    };
    update_names: { ecosystem: string; name: string };
    update_candidates: {
      agent_id: string;
      ecosystem: string;
      name: string;
      arch: string;
      current_version: string;
      /** A JSON array of versions, the nearest first. */
      versions: string;
      fix_version: string | null;
      /** When advisories were last looked up; null: not since the report changed. */
      checked_at: number | null;
    };
    /** Of every host; kept by triggers. */
    host_sums: {
      agent_id: string;
      pending: number;
      /** Of the pending ones, what they fix (`FIX_COUNTS`). */
      exploited: Generated<number>;
      critical: Generated<number>;
      high: Generated<number>;
      fixing: Generated<number>;
      judged: Generated<number>;
    };
  }
}
