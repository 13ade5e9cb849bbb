import { UPDATE_STATES } from '@tidegate/protocol/states';
import { sql } from 'kysely';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import type { Database, Tx } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { EPSS_ROOM, EXPLOITED_FIX, SEVERITIES_RISING } from '../apps/server/src/updates/queue-rules.ts';
import { foldSums } from '../apps/server/src/updates/sums-store.ts';

export interface FleetSize {
  hosts: number;
  updates: number;
  events: number;
}

export const EPOCH_MS = Date.parse('2026-11-01T00:00:00Z');
const HOUR_MS = 3_600_000;
/** So long that no host goes silent while its lists are timed: a hundred thousand events would be written meanwhile. */
const INTERVAL_SECONDS = 3_600;
/** Rows per statement. */
const STEP = 20_000;
/** More rows are drawn than wanted, because a host cannot be offered the same version twice. */
const DRAWN = 1.3;
const GROUPS = 40;
const FIRST_ID_MS = 0x019000000000;
/** Packages of each ecosystem, 8,000 in all. */
const PACKAGES = { apt: 4_000, dnf: 1_500, npm: 1_500, pypi: 1_000 } as const;

type Engine = Database['engine'];

/** Rows that the database generates itself, each from a number `n`. */
interface Filling {
  table: string;
  columns: string;
  /** Rows to draw; some of them may exist already. */
  count: number;
  /** Drawing stops once the table has so many rows. */
  enough?: number;
  /** Queries that each build on the one before; each is computed once per row. */
  steps?: Record<string, string>;
  select: string;
}

/** Fills a database as a fleet would in some weeks; its content is the same in every run. */
export async function makeListFleet(database: Database, size: FleetSize): Promise<{ filledMs: number }> {
  const began = performance.now();
  await migrate(database, { migrations: MIGRATIONS, now: Date.now });
  const { engine } = database;
  // Rows do not come in the order of the indexes: with a small cache their pages would be read again and again.
  if (engine === 'sqlite') await database.transact((tx) => sql`PRAGMA cache_size = -1000000`.execute(tx));
  const fillings = [
    ...hosts(engine, size.hosts),
    updates(engine, size),
    ...decisions(engine, size),
    events(engine, size),
  ];
  for (const filling of fillings) await fill(database, filling);
  await database.transact(async (tx) => {
    const { rows } = await sql<{
      id: string;
    }>`SELECT id FROM updates ORDER BY id LIMIT 1 OFFSET ${size.updates}`.execute(tx);
    if (rows[0]) await tx.deleteFrom('updates').where('id', '>=', rows[0].id).execute();
    await sql`INSERT INTO update_names (ecosystem, name) SELECT DISTINCT ecosystem, name FROM updates`.execute(
      tx,
    );
    const head = { position: size.events, hash: 'h'.repeat(64) };
    await tx.updateTable('events_head').set(head).execute();
  });
  if (engine === 'postgres') {
    // The server and PostgreSQL do this within minutes.
    while ((await foldSums(database)) > 0);
    await vacuum(database);
  }
  return { filledMs: performance.now() - began };
}

/** PostgreSQL ends a statement after half a minute; a fill takes longer on a busy machine. */
export async function waitForever(tx: Tx, { engine }: Pick<Database, 'engine'>): Promise<void> {
  if (engine === 'postgres') await sql`SET LOCAL statement_timeout = 0`.execute(tx);
}

/** However long it takes. */
export async function vacuum({ read }: Database): Promise<void> {
  await read.connection().execute(async (db) => {
    await sql`SET statement_timeout = 0`.execute(db);
    await sql`VACUUM ANALYZE`.execute(db);
    await sql`RESET statement_timeout`.execute(db);
  });
}

async function fill(
  database: Database,
  { table, columns, count, enough = count, steps = {}, select }: Filling,
): Promise<void> {
  const materialized = Object.entries(steps).map(([name, text]) => `, ${name} AS MATERIALIZED (${text})`);
  for (let from = 0; from < count; from += STEP) {
    const to = Math.min(count, from + STEP);
    const numbers = `WITH RECURSIVE numbers(n) AS (
      SELECT CAST(${from} AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to - 1})${materialized.join('')}`;
    const insert = `INSERT INTO ${table} (${columns}) ${numbers} ${select} ON CONFLICT DO NOTHING`;
    const rows = await database.transact(async (tx) => {
      await waitForever(tx, database);
      await sql.raw(insert).execute(tx);
      return sql<{ rows: number }>`SELECT count(*) AS rows FROM ${sql.table(table)}`.execute(tx);
    });
    if ((rows.rows[0]?.rows ?? 0) >= enough) return;
  }
}

function hosts(engine: Engine, count: number): Filling[] {
  const nowMs = Date.now();
  const id = idOf(engine, '8', 'n');
  const isSilent = `${drawn('n', 2)} % 10 = 0`;
  const silentSince = `${nowMs} - ${24 * HOUR_MS} - n * 100`;
  return [
    {
      table: 'agents',
      columns: `id, machine_id, status, hostname, os_family, os_id, os_version_id, os_arch, agent_version,
        key_set_version, next_seq, inventory_digests, polling_interval_seconds, enrolled_at, deleted_at, group_name`,
      count,
      select: `SELECT ${id}, CASE WHEN n % 50 <> 49 THEN 'machine-' || n END,
        CASE WHEN n % 100 = 7 THEN 'revoked' ELSE 'active' END,
        ${oneOf('n', ['web', 'db', 'cache', 'build'])} || '-' || n || '.example',
        'linux', ${systemOf('n')}, '' || (9 + n % 4), 'amd64',
        CASE WHEN n % 20 = 0 THEN '0.9.0' ELSE '1.0.0' END, 1, 1, '{}', ${INTERVAL_SECONDS},
        ${EPOCH_MS} - ${drawn('n', 1)} % 8000 * ${HOUR_MS},
        CASE WHEN n % 200 = 199 THEN ${EPOCH_MS} END,
        CASE WHEN n % 3 <> 0 THEN 'group-' || (n % ${GROUPS}) END FROM numbers WHERE true`,
    },
    {
      table: 'agent_presence',
      columns: 'agent_id, last_seen_at, silence_told',
      count,
      select: `SELECT ${id}, CASE WHEN ${isSilent} THEN ${silentSince} ELSE ${nowMs} - ${drawn('n', 3)} % 60000 END,
        CASE WHEN ${isSilent} THEN ${silentSince} END FROM numbers WHERE n % 30 <> 29`,
    },
    {
      table: 'inventory_reports',
      columns: 'agent_id, ecosystem, digest, scanned_at, received_at, complete, package_count',
      count,
      select: `SELECT ${id}, ${ecosystemOf(systemOf('n'), drawn('n', 4))}, 'd', ${EPOCH_MS}, ${EPOCH_MS}, 1, 900
        FROM numbers WHERE true`,
    },
    {
      table: 'clone_suspicions',
      columns: 'agent_id, since, evidence, raised_at, accepted_addresses',
      count,
      select: `SELECT ${id}, ${EPOCH_MS}, '[]', ${EPOCH_MS}, '[]' FROM numbers WHERE n % 500 = 3`,
    },
    {
      table: 'agent_timeliness',
      columns: 'agent_id, ahead_ms, list_ages, received_at, oldest_list_seconds',
      count,
      select: `SELECT ${id}, CASE WHEN n % 50 = 1 THEN 90000 ELSE ${drawn('n', 31)} % 2000 - 1000 END, '{}',
        ${nowMs} - CASE WHEN n % 20 = 2 THEN ${72 * HOUR_MS} ELSE 0 END,
        CASE WHEN n % 40 = 5 THEN NULL WHEN n % 20 = 3 THEN 400000 ELSE ${drawn('n', 32)} % 90000 END
        FROM numbers WHERE n % 30 <> 29`,
    },
    {
      table: 'agent_probes',
      columns: 'agent_id, state, since, looked_at, probes, red_told',
      count,
      select: `SELECT ${id}, CASE WHEN n % 40 = 9 THEN 'red' WHEN n % 40 = 10 THEN 'unknown' ELSE 'green' END, ${EPOCH_MS},
        ${nowMs}, '[]', 0 FROM numbers WHERE n % 3 = 0`,
    },
    {
      table: 'agent_restarts',
      columns: 'agent_id, boot_id, services, reboot, restartable, report, received_at',
      count,
      select: `SELECT ${id}, 'boot', ${oneOf(drawn('n', 33), RESTART_NEEDS)}, ${oneOf(drawn('n', 34), RESTART_NEEDS)}, 1, '{}',
        ${nowMs} FROM numbers WHERE n % 10 <> 8`,
    },
    {
      table: 'host_tags',
      columns: 'agent_id, key, value, set_by, set_at',
      count,
      select: `SELECT ${id}, 'env', ${oneOf(drawn('n', 35), ['prod', 'prod', 'prod', 'test', 'stage'])}, 'ada', ${EPOCH_MS}
        FROM numbers WHERE true`,
    },
    {
      table: 'host_reported_tags',
      columns: 'agent_id, key, value',
      count,
      select: `SELECT ${id}, 'host.site', 'site-' || (${drawn('n', 36)} % 50) FROM numbers WHERE true`,
    },
  ];
}

const RESTART_NEEDS = ['needed', 'not_needed', 'not_needed', 'not_needed', 'unknown'];

function systemOf(host: string): string {
  return `CASE WHEN ${host} % 10 < 6 THEN 'debian' WHEN ${host} % 10 < 9 THEN 'rocky' ELSE 'alpine' END`;
}

/** Most updates of a host are for its own operating system. */
function ecosystemOf(system: string, draw: string): string {
  return `CASE WHEN ${draw} % 10 = 9 THEN 'pypi' WHEN ${draw} % 10 >= 7 OR ${system} = 'alpine' THEN 'npm'
    WHEN ${system} = 'debian' THEN 'apt' ELSE 'dnf' END`;
}

/**
 * The newest updates are pending, the older ones are finished; a few packages are on most hosts, most are on few. What
 * is known of an update belongs to its version, so it is the same on all hosts.
 */
function updates(engine: Engine, size: FleetSize): Filling {
  const { apt, dnf, npm } = PACKAGES;
  const first = `CASE ecosystem WHEN 'apt' THEN 0 WHEN 'dnf' THEN ${apt} WHEN 'npm' THEN ${apt + dnf} ELSE ${apt + dnf + npm} END`;
  const count = `CASE ecosystem ${Object.entries(PACKAGES)
    .map(([name, packages]) => `WHEN '${name}' THEN ${packages}`)
    .join(' ')} END`;
  const root = `${drawn('n', 6)} / 2048`;
  const isVulnerable = `verdict = 'vulnerable'`;
  return {
    table: 'updates',
    columns: `id, agent_id, ecosystem, name, arch, current_version, available_version, origin, security, size_bytes,
      state, out_of_band, verdict, severity, known_exploited, epss, queue_rank, fixes, fixes_severity, fixes_exploited, fix_rank,
      introduces, stays, stopped_under, offers, discovered_at, updated_at`,
    count: Math.ceil(size.updates * DRAWN),
    enough: size.updates,
    steps: {
      lots: `SELECT n, ${drawn('n', 4)} % ${size.hosts} AS host, ${drawn('n', 5)} AS draw, ${root} AS root,
        ${drawn('n', 7)} AS lot FROM numbers`,
      systems: `SELECT n, host, root, ${ecosystemOf(systemOf('host'), 'draw')} AS ecosystem,
        CASE WHEN lot % 100 >= 90 THEN ${oneOf('lot', UPDATE_STATES)}
          WHEN n > ${size.updates} / 2 THEN 'pending' ELSE 'installed' END AS state FROM lots`,
      packages: `SELECT n, host, ecosystem, state,
        ${first} + root * root / 1048576 * root / 1048576 * (${count}) / 1048576 AS package,
        4 - CASE WHEN state IN ('installed', 'superseded') THEN ${drawn('n', 16)} % 3 ELSE 0 END AS version FROM systems`,
      facts: `SELECT packages.*, package * 16 + version AS fact FROM packages`,
      verdicts: `SELECT facts.*, CASE WHEN ${drawn('fact', 17)} % 4 = 0 THEN 1 ELSE 0 END AS security,
        CASE WHEN ${drawn('n', 9)} % 20 = 0 THEN NULL WHEN ${drawn('fact', 10)} % 4 = 0 THEN 'vulnerable'
          WHEN ${drawn('fact', 11)} % 20 = 0 THEN 'unchecked' ELSE 'clear' END AS verdict FROM facts`,
      badges: `SELECT verdicts.*, CASE WHEN ${isVulnerable} THEN ${oneOf(drawn('fact', 12), SEVERITIES)} END AS severity,
        CASE WHEN ${isVulnerable} AND ${drawn('fact', 13)} % 2 = 0 THEN ${drawn('fact', 14)} % 1000 / 1000.0 END AS epss,
        CASE WHEN ${isVulnerable} AND ${drawn('fact', 15)} % 40 = 0 THEN 1 WHEN verdict IS NOT NULL THEN 0 END AS kev,
        CASE WHEN ${drawn('fact', 24)} % 3 = 0 THEN 1 WHEN verdict IS NOT NULL THEN 0 END AS fixes,
        ${oneOf(drawn('fact', 25), SEVERITIES)} AS worst,
        CASE WHEN ${drawn('fact', 26)} % 40 = 0 THEN 1 ELSE 0 END AS fixed_kev FROM verdicts`,
    },
    select: `SELECT ${idOf(engine, '9', 'n')}, ${idOf(engine, '8', 'host')}, ecosystem, 'package-' || package, 'amd64',
        '1.0-1', '1.' || version || '-2', 'Debian:12/stable-security', security, 123456, state, 0, verdict, severity, kev,
        epss, CASE WHEN verdict IS NOT NULL THEN COALESCE(kev, 0) * ${EPSS_ROOM}
          + CASE WHEN epss IS NULL THEN 0 ELSE 10 + CAST(epss * 1000000 AS BIGINT) * 10 END
          + CASE severity ${RANKS} ELSE 0 END END,
        fixes, CASE WHEN fixes > 0 THEN worst END, CASE WHEN fixes > 0 THEN fixed_kev END,
        CASE WHEN fixes IS NULL THEN -1 WHEN fixes = 0 THEN 0 ELSE fixed_kev * ${EXPLOITED_FIX} + CASE worst ${RANKS} END END,
        CASE WHEN verdict IS NOT NULL THEN CASE WHEN ${isVulnerable} AND ${drawn('fact', 27)} % 3 = 0 THEN 1 ELSE 0 END END,
        CASE WHEN verdict IS NOT NULL THEN CASE WHEN ${isVulnerable} THEN 1 ELSE 0 END END,
        CASE WHEN verdict IS NOT NULL THEN CASE WHEN NOT ${isVulnerable} THEN 'neither'
          WHEN ${drawn('fact', 27)} % 3 = 0 THEN 'introduced' ELSE 'any' END END,
        CASE WHEN ecosystem IN ('npm', 'pypi') THEN 1 + version % 2 * 2 ELSE 0 END,
        ${EPOCH_MS} + n * 3000, ${EPOCH_MS} + n * 3000 + ${drawn('n', 18)} % 1000 * 60000 FROM badges WHERE true`,
  };
}

/** The gate stopped one pending update in a hundred when somebody asked for it. */
function decisions(engine: Engine, size: FleetSize): Filling[] {
  const asked = `FROM numbers CROSS JOIN updates AS u WHERE u.id = ${idOf(engine, '9', 'n')} AND n % 100 = 50`;
  const id = idOf(engine, '6', 'n');
  return [
    {
      table: 'decisions',
      columns: 'id, agent_id, set_sha256, outcome, actor, fingerprint, document, document_sha256, decided_at',
      count: size.updates,
      select: `SELECT ${id}, u.agent_id, 's', 'blocked', 'ada', 'f', '{}', 'd', ${EPOCH_MS} ${asked}`,
    },
    {
      table: 'decision_updates',
      columns: 'decision_id, update_id, stopped',
      count: size.updates,
      select: `SELECT ${id}, u.id, 1 ${asked}`,
    },
  ];
}

const SEVERITIES = ['low', 'medium', 'medium', 'high', 'high', 'critical'];
const RANKS = SEVERITIES_RISING.map((severity, i) => `WHEN '${severity}' THEN ${i + 1}`).join(' ');

const EVENT_TYPES = [
  'LOGIN_SUCCEEDED',
  'LOGIN_FAILED',
  'AGENT_ENROLLED',
  'update_approved',
  'update_installed',
  'approval_blocked',
];

function events(engine: Engine, { hosts: hostCount, events: count }: FleetSize): Filling {
  const hash = 'h'.repeat(64);
  return {
    table: 'events',
    columns: `position, id, kind, type, severity, component, agent_id, actor, content, created_at, previous_hash, hash`,
    count,
    select: `SELECT n + 1, ${idOf(engine, '7', 'n')}, CASE WHEN type = upper(type) THEN 'security' ELSE 'system' END, type,
        CASE WHEN ${drawn('n', 21)} % 1000 = 0 THEN 'critical' WHEN ${drawn('n', 22)} % 20 = 0 THEN 'warning' ELSE 'info' END,
        CASE WHEN type = upper(type) THEN 'operators' ELSE 'approvals' END,
        CASE WHEN n % 2 = 0 THEN ${idOf(engine, '8', `(n % ${hostCount})`)} END, 'operator-' || (${drawn('n', 23)} % 30),
        '{"package":"openssl","reason":"what an operator said of it, in some words"}', ${EPOCH_MS} + n * 2000, '${hash}', '${hash}'
      FROM (SELECT n, ${oneOf(drawn('n', 20), EVENT_TYPES)} AS type FROM numbers) AS typed WHERE true`,
  };
}

function oneOf(draw: string, values: readonly string[]): string {
  const cases = values.map((value, i) => `WHEN ${i} THEN '${value}'`);
  return `CASE (${draw}) % ${values.length} ${cases.join(' ')} END`;
}

/** A whole number below 2^31 that looks random, but is the same in every run and on both engines. */
function drawn(n: string, salt: number): string {
  const a = `((${n} + ${salt * 7_919 + 1}) * 48271 % 2147483647)`;
  const b = `(${a} * (${a} % 65521 + ${salt}) % 2147483647)`;
  return `(${b} * 16807 % 2147483647)`;
}

/** In the order of the rows, as UUIDv7 ids are. */
function idOf(engine: Engine, group: '6' | '7' | '8' | '9', n: string): string {
  const hex = (of: string) =>
    engine === 'sqlite' ? `printf('%012x', ${of})` : `lpad(to_hex(${of}), 12, '0')`;
  const time = hex(`${FIRST_ID_MS} + ${n} * 977`);
  return `substr(${time}, 1, 8) || '-' || substr(${time}, 9) || '-7000-${group}000-' || ${hex(drawn(n, 99))}`;
}
