import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '@tidegate/testkit/postgres';
import { tmpDir } from '@tidegate/testkit/tmp';
import { createAccessTokens } from '../apps/server/src/agent-credentials/access-tokens.ts';
import { formRefreshToken, hashRefreshToken } from '../apps/server/src/agent-credentials/refresh-tokens.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openPostgres } from '../apps/server/src/platform/db/postgres.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import type { LimitClass } from '../apps/server/src/platform/http/access.ts';
import { createLog } from '../apps/server/src/platform/log.ts';
import { loadSecrets } from '../apps/server/src/platform/secrets.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { cpuOf, cpuOfFamily, SERVER_CORE, type ServerProcess, startServerProcess } from './processes.ts';
import { serverProgram } from './program.ts';

const JWT_SECRET = 'a benchmark secret that protects nothing';
export const BENCH_USER = 'bench';
export const BENCH_PASSWORD = 'a password of a benchmark';
const DIGEST = 'a'.repeat(64);
export const BOOT_ID = 'c0ffee00-0000-4000-8000-000000000001';

/** A check-in of a host with nothing to report, for the hosts that `startFleet` creates. */
export const IDLE_CHECK_IN = JSON.stringify({
  agent_version: '1.0.0',
  boot_id: BOOT_ID,
  uptime_seconds: 86_400,
  load: [0.1, 0.2, 0.3],
  received: [],
  key_set_version: 1,
  inventory_digest: { apt: DIGEST },
});

export interface BenchAgent {
  agentId: string;
  machineId: string;
  token: string;
  refreshToken: string;
}

/** A real server on its own core with a fleet in its database. */
export interface BenchServer {
  url: string;
  agents: readonly BenchAgent[];
  /** CPU time of the server so far, in microseconds; `database` is that of PostgreSQL's processes. */
  cpuUs(): { server: number; database: number };
  pid: number;
  stop(): Promise<void>;
}

export interface FleetOptions {
  agents: number;
  nodeFlags?: readonly string[];
  /** The core of PostgreSQL; that of the server unless given. */
  databaseCore?: number;
  /** When the access tokens were issued; now unless given. */
  tokensFromMs?: number;
  /** The cores of the server; that of the servers unless given. */
  serverCores?: string;
  /** Further settings of the server. */
  env?: Record<string, string>;
  /** Adds more to the database before the server starts. */
  prepare?: (database: Database, agentIds: readonly string[]) => Promise<void>;
}

/** Starts a server with so many agents, inserted directly. Returns `missing` where PostgreSQL is not installed. */
export async function startFleet(
  engine: 'sqlite' | 'postgres',
  {
    agents: count,
    nodeFlags = [],
    env = {},
    prepare = async () => {},
    databaseCore = SERVER_CORE,
    serverCores = String(SERVER_CORE),
    tokensFromMs = Date.now(),
  }: FleetOptions,
): Promise<BenchServer | { missing: string }> {
  const folder = tmpDir('tidegate-bench-');
  const postgres = engine === 'postgres' ? await startPostgres({ fsync: true, cpu: databaseCore }) : null;
  if (postgres && 'missing' in postgres) return postgres;
  const databaseUrl = postgres ? await postgres.createDatabase() : null;
  const database = databaseUrl
    ? openPostgres(databaseUrl, databaseOptions())
    : openSqlite(join(folder.path, 'tidegate.db'), databaseOptions());
  await migrate(database, { migrations: MIGRATIONS, now: Date.now });
  const secrets = loadSecrets({
    configured: JWT_SECRET,
    dataDir: folder.path,
    random: randomBytes,
    log: QUIET,
  });
  const keys = await insertFleet(database, { count, tagKey: secrets.refreshTags });
  await prepare(
    database,
    keys.map(({ agentId }) => agentId),
  );
  await database.close();
  const agents = await withTokens(keys, { secret: secrets.accessTokens, now: () => tokensFromMs });
  const server: ServerProcess = await startServerProcess(await serverProgram(), {
    nodeFlags,
    cores: serverCores,
    env: {
      SERVICE_DATA_DIR: folder.path,
      SERVICE_HOST: '127.0.0.1',
      SERVICE_PORT: '0',
      SERVICE_JWT_SECRET: JWT_SECRET,
      SERVICE_ADVISORY_SOURCE: 'off',
      SERVICE_ADMIN_USERNAME: BENCH_USER,
      SERVICE_ADMIN_PASSWORD: BENCH_PASSWORD,
      ...(databaseUrl ? { SERVICE_DATABASE_URL: databaseUrl } : {}),
      ...env,
    },
  });
  const postmaster = databaseUrl ? postmasterOf(databaseUrl) : null;
  return {
    url: server.url,
    pid: server.pid,
    agents,
    cpuUs: () => ({
      server: cpuOf(server.pid),
      database: postmaster === null ? 0 : cpuOfFamily(postmaster),
    }),
    async stop() {
      await server.stop();
      await postgres?.stop();
      folder.remove();
    },
  };
}

/** The main process of the PostgreSQL server behind an address from `startPostgres`. */
export function postmasterOf(databaseUrl: string): number {
  const home = new URL(databaseUrl).searchParams.get('host') ?? '';
  return Number(readFileSync(join(home, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
}

interface Key {
  agentId: string;
  familyId: string;
  machineId: string;
  refreshToken: string;
}

/** Classes of limits that a fleet starts with out of the way. */
export const LIFTED_CLASSES: readonly LimitClass[] = [
  'agent_checkin',
  'agent_reports',
  'agent_renewal',
  'agent_registration',
];

const QUIET = createLog({ level: 'error', format: 'text', write: () => {}, now: Date.now });

async function insertFleet(
  database: Database,
  { count, tagKey }: { count: number; tagKey: Buffer },
): Promise<Key[]> {
  const keys: Key[] = Array.from({ length: count }, (_, n) => {
    const familyId = idOf('9', n);
    const refreshToken = formRefreshToken(tagKey, { familyId, seq: 1, secret: randomBytes(32) });
    const machineId = `${n.toString(16).padStart(8, '0')}${'0'.repeat(24)}`;
    return { agentId: idOf('8', n), familyId, machineId, refreshToken };
  });
  const nowMs = Date.now();
  await database.transact(async (tx) => {
    // Sliding windows as in production; only the limits are too high to affect a saturated run.
    const budget = { requests: 100_000, window_seconds: 60, enabled: 1, updated_at: nowMs };
    const classes = LIFTED_CLASSES.map((name) => ({ class: name, ...budget }));
    await tx.insertInto('rate_limits').values(classes).execute();
    for (let i = 0; i < keys.length; i += 500) {
      const part = keys.slice(i, i + 500);
      await tx
        .insertInto('agents')
        .values(part.map((key, j) => agentRow(key, { n: i + j, nowMs })))
        .execute();
      await tx
        .insertInto('refresh_families')
        .values(part.map((key) => familyRow(key, nowMs)))
        .execute();
    }
  });
  return keys;
}

function agentRow(key: Key, { n, nowMs }: { n: number; nowMs: number }) {
  return {
    id: key.agentId,
    machine_id: key.machineId,
    status: 'active' as const,
    hostname: `host-${n}.example`,
    os_family: 'linux',
    os_id: 'debian',
    os_version_id: '12',
    os_arch: 'amd64',
    agent_version: '1.0.0',
    boot_id: BOOT_ID,
    key_set_version: 1,
    next_seq: 1,
    inventory_digests: JSON.stringify({ apt: DIGEST }),
    enrolled_at: nowMs,
  };
}

function familyRow(key: Key, nowMs: number) {
  return {
    id: key.familyId,
    agent_id: key.agentId,
    status: 'active' as const,
    cur_seq: 1,
    cur_hash: hashRefreshToken(key.refreshToken),
    cur_issued_at: nowMs,
    prev_grace_used: 0,
    displaced_hashes: '[]',
    created_at: nowMs,
    last_rotated_at: nowMs,
    expires_at: nowMs + 90 * 86_400_000,
  };
}

/** In the order of the rows, as the UUIDv7 ids of enrolments are. */
function idOf(group: '8' | '9', n: number): string {
  const time = (0x019000000000 + n * 977).toString(16).padStart(12, '0');
  const random = Math.imul(n + 1, 0x9e3779b1) >>> 0;
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-${group}000-${random.toString(16).padStart(12, '0')}`;
}

async function withTokens(
  keys: readonly Key[],
  { secret, now }: { secret: Buffer; now: () => number },
): Promise<BenchAgent[]> {
  const tokens = createAccessTokens({ secret, now, random: randomBytes, verifiedMaxBytes: 0 });
  const agents: BenchAgent[] = [];
  for (const { agentId, familyId, machineId, refreshToken } of keys) {
    const { token } = await tokens.issue({ agentId, familyId });
    agents.push({ agentId, machineId, token, refreshToken });
  }
  return agents;
}
