import { UPDATE_STATES } from '@tidegate/protocol/states';
import { sql } from 'kysely';
import type { Database, Tx } from '../apps/server/src/platform/db/engine.ts';
import { queueRank } from '../apps/server/src/updates/queue-rules.ts';

export interface FleetSize {
  hosts: number;
  updates: number;
  events: number;
}

export const EPOCH_MS = Date.parse('2026-11-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const ROWS = 500;
const ROWS_IN_TRANSACTION = 20_000;
const PACKAGES = 8_000;
const GROUPS = 40;
const EVENT_TYPES = [
  'LOGIN_SUCCEEDED',
  'LOGIN_FAILED',
  'AGENT_ENROLLED',
  'update_approved',
  'update_installed',
  'approval_blocked',
];

type Value = string | number | null;
type Maker = (n: number) => Value[];

/** Fills a database as a fleet would have over some weeks: the same one each time, straight into the tables. */
export async function fillLists(database: Database, { hosts, updates, events }: FleetSize): Promise<void> {
  await insert(database, 'agents', hosts, AGENT, (n) => [
    hostId(n),
    n % 50 === 49 ? null : `machine-${n}`,
    n % 100 === 7 ? 'revoked' : 'active',
    hostName(n),
    'linux',
    n % 10 < 6 ? 'debian' : n % 10 < 9 ? 'rocky' : 'alpine',
    `${9 + (n % 4)}`,
    'amd64',
    n % 20 === 0 ? '0.9.0' : '1.0.0',
    1,
    1,
    '{}',
    EPOCH_MS - (drawn(n, 1) % 8_000) * HOUR_MS,
    n % 200 === 199 ? EPOCH_MS : null,
    n % 3 === 0 ? null : `group-${n % GROUPS}`,
  ]);
  await insert(database, 'agent_presence', hosts, 'agent_id, last_seen_at', (n) => [
    n % 30 === 29 ? null : hostId(n),
    Date.now() - (drawn(n, 2) % 10 === 0 ? 24 * HOUR_MS + n * 100 : drawn(n, 3) % 60_000),
  ]);
  await insert(
    database,
    'inventory_reports',
    hosts,
    'agent_id, ecosystem, digest, scanned_at, received_at, complete, package_count',
    (n) => [hostId(n), ecosystemOf(n), 'd', EPOCH_MS, EPOCH_MS, 1, 900],
  );
  await insert(
    database,
    'clone_suspicions',
    hosts,
    'agent_id, since, evidence, raised_at, accepted_addresses',
    (n) => [n % 500 === 3 ? hostId(n) : null, EPOCH_MS, '[]', EPOCH_MS, '[]'],
  );
  await insert(database, 'updates', updates, UPDATE, (n) => updateRow(n, { hosts, updates }));
  await insert(database, 'events', events, EVENT, (n) => {
    const type = EVENT_TYPES[drawn(n, 20) % EVENT_TYPES.length] ?? '';
    const kind = type === type.toUpperCase() ? 'security' : 'system';
    const severity = drawn(n, 21) % 1_000 === 0 ? 'critical' : drawn(n, 22) % 20 === 0 ? 'warning' : 'info';
    return [
      n + 1,
      idOf('7', n),
      kind,
      type,
      severity,
      kind === 'security' ? 'operators' : 'approvals',
      n % 2 === 0 ? hostId(n % hosts) : null,
      `operator-${drawn(n, 23) % 30}`,
      '{"package":"openssl","reason":"what an operator said of it, in some words"}',
      EPOCH_MS + n * 2_000,
      'h'.repeat(64),
      'h'.repeat(64),
    ];
  });
  await database.transact(async (tx) => {
    await sql`INSERT INTO update_names (ecosystem, name) SELECT DISTINCT ecosystem, name FROM updates`.execute(
      tx,
    );
    await tx
      .updateTable('events_head')
      .set({ position: events, hash: 'h'.repeat(64) })
      .execute();
  });
}

const AGENT =
  'id, machine_id, status, hostname, os_family, os_id, os_version_id, os_arch, agent_version, key_set_version, next_seq, inventory_digests, enrolled_at, deleted_at, group_name';
const UPDATE =
  'id, agent_id, ecosystem, name, arch, current_version, available_version, origin, security, size_bytes, state, out_of_band, verdict, severity, known_exploited, epss, queue_rank, discovered_at, updated_at';
const EVENT =
  'position, id, kind, type, severity, component, agent_id, actor, content, created_at, previous_hash, hash';

/** The newest are pending, the older ones are over; a few packages are on most hosts, most are on few. */
function updateRow(n: number, { hosts, updates }: Pick<FleetSize, 'hosts' | 'updates'>): Value[] {
  const host = drawn(n, 4) % hosts;
  const ecosystem = ecosystemOf(drawn(n, 5));
  const name = `package-${Math.floor((drawn(n, 6) / 2 ** 24) ** 3 * PACKAGES)}`;
  const isNew = n > updates / 2;
  const state =
    drawn(n, 7) % 100 < 90 ? (isNew ? 'pending' : 'installed') : (UPDATE_STATES[drawn(n, 8) % 8] ?? 'failed');
  const verdict =
    drawn(n, 9) % 10 < 2
      ? null
      : drawn(n, 10) % 4 === 0
        ? 'vulnerable'
        : drawn(n, 11) % 20 === 0
          ? 'unchecked'
          : 'clear';
  const severity =
    verdict === 'vulnerable'
      ? (['low', 'medium', 'medium', 'high', 'high', 'critical'][drawn(n, 12) % 6] ?? null)
      : null;
  const epss = verdict === 'vulnerable' && drawn(n, 13) % 2 === 0 ? (drawn(n, 14) % 1_000) / 1_000 : null;
  const kev = verdict === null ? null : verdict === 'vulnerable' && drawn(n, 15) % 40 === 0 ? 1 : 0;
  const rank = queueRank({ severity, epss, knownExploited: kev === null ? null : kev === 1 });
  const at = EPOCH_MS + n * 3_000;
  return [
    idOf('9', n),
    hostId(host),
    ecosystem,
    name,
    'amd64',
    '1.0-1',
    `1.${drawn(n, 16) % 3}-2`,
    'Debian:12/stable-security',
    drawn(n, 17) % 4 === 0 ? 1 : 0,
    123_456,
    state,
    0,
    verdict,
    severity,
    kev,
    epss,
    rank,
    at,
    at + (drawn(n, 18) % 1_000) * 60_000,
  ];
}

function ecosystemOf(n: number): string {
  return ['apt', 'apt', 'apt', 'apt', 'apt', 'dnf', 'dnf', 'npm', 'npm', 'pypi'][n % 10] ?? 'apt';
}

function hostName(n: number): string {
  return `${['web', 'db', 'cache', 'build'][n % 4]}-${n}.example`;
}

export function hostId(n: number): string {
  return idOf('8', n);
}

async function insert(
  database: Database,
  table: string,
  count: number,
  columns: string,
  row: Maker,
): Promise<void> {
  for (let from = 0; from < count; from += ROWS_IN_TRANSACTION) {
    await database.transact(async (tx) => {
      for (let n = from; n < Math.min(count, from + ROWS_IN_TRANSACTION); n += ROWS) {
        await insertSome(tx, `INSERT INTO ${table} (${columns}) VALUES `, {
          from: n,
          to: Math.min(count, n + ROWS),
          row,
        });
      }
    });
  }
}

/** Rows whose first value is null are none, and neither are those that are there already. The values are made here, and have nothing to escape. */
async function insertSome(tx: Tx, head: string, { from, to, row }: { from: number; to: number; row: Maker }) {
  const rows = Array.from({ length: to - from }, (_, i) => row(from + i)).filter(([first]) => first !== null);
  if (rows.length === 0) return;
  const text = rows.map(
    (values) =>
      `(${values.map((one) => (one === null ? 'NULL' : typeof one === 'number' ? one : `'${one}'`)).join(',')})`,
  );
  await sql.raw(`${head}${text.join(',')} ON CONFLICT DO NOTHING`).execute(tx);
}

/** A whole number below 2^24 that looks as if it were drawn, and is the same each time. */
function drawn(n: number, salt: number): number {
  let x = Math.imul(n + 1, 0x9e3779b1) ^ Math.imul(salt, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39);
  return (x ^ (x >>> 15)) >>> 8;
}

/** In the order of the rows, as UUIDv7 ids are. */
function idOf(group: '7' | '8' | '9', n: number): string {
  const time = (0x019000000000 + n * 977).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-${group}000-${drawn(n, 99).toString(16).padStart(12, '0')}`;
}
