import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { countAgentsWithKeySet } from '../agents/store.ts';
import { type Config, readConfig } from '../config.ts';
import { CHAINING } from '../events/chain-events.ts';
import { listEvents, newestCheckpoint, oldestUnchained, readHead } from '../events/store.ts';
import { MIGRATIONS } from '../migrations.ts';
import { countOperators } from '../operators/store.ts';
import { isLoopback, plainHttpFault } from '../plain-http.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import { checkIntegrity, databaseNowMs } from '../platform/db/check-integrity.ts';
import { type Database, DatabaseFault } from '../platform/db/engine.ts';
import { isBeforeFirstRelease } from '../platform/db/migrate.ts';
import { openDatabase, SQLITE_FILE } from '../platform/db/open.ts';
import { schemaVersion } from '../platform/db/schema-version.ts';
import { readSecrets } from '../platform/secrets.ts';
import { readEpochFile } from '../restore/epoch-file.ts';
import { openKeyFolder } from '../signing-keys/key-folder.ts';
import { heldKeys } from '../signing-keys/load-keys.ts';
import { listKeys, readFleet } from '../signing-keys/store.ts';
import { unknownSettings } from '../unknown-settings.ts';
import type { CliWorld } from './command.ts';
import { judgeAdvisoryMirror } from './doctor-advisories.ts';
import { judgeAgentPackages, judgeServerCa } from './doctor-agents.ts';
import { judgeBackups } from './doctor-backups.ts';
import { judgeBuffers } from './doctor-buffers.ts';
import { judgeAgentCache } from './doctor-caches.ts';
import { judgeCertificate } from './doctor-certificate.ts';
import { judgeEpssScores, judgeExploitedList } from './doctor-exploited.ts';
import { judgeExports } from './doctor-exports.ts';
import { judgeSecondFactors } from './doctor-factors.ts';
import { judgeOpenFiles } from './doctor-files.ts';
import { judgeNotifications } from './doctor-notifications.ts';
import { judgeOutsiders } from './doctor-outsiders.ts';
import { judgePooler } from './doctor-pooler.ts';
import { judgeProxy } from './doctor-proxy.ts';
import { judgeRetentionClock } from './doctor-retention.ts';
import {
  type FileMode,
  type Finding,
  judgeClock,
  judgeDisk,
  judgeModes,
  judgeWorkers,
} from './doctor-rules.ts';
import { judgeSeals, NO_SECRET } from './doctor-seals.ts';
import { sealsBeside } from './open-installation.ts';

/** Entries of the data folder to check: a handful, keys, and backups. */
const FILES_MAX = 10_000;
/** A running server gives events their place at once, and after a crash within 15 seconds. */
const UNCHAINED_MAX_MS = 60_000;

/** Checks everything that the server needs, without changing anything; a check that cannot run is a finding. */
export async function examineServer({ env, now }: Pick<CliWorld, 'env' | 'now'>): Promise<Finding[]> {
  const read = readConfig(env);
  if (!read.ok) {
    const todo = 'correct the setting; docs/configuration.md lists them all';
    return [{ check: 'configuration', level: 'fail', detail: read.fault, todo }];
  }
  const { config } = read;
  const findings: Finding[] = [
    judgeSettings(env),
    judgeListening(config),
    judgeAdvisories(config),
    judgeMetrics(config),
    judgeWorkers({ processes: config.workers, cores: availableParallelism() }),
    ...judgeProxy(config, env),
    ...judgeServerCa(config),
    ...(await judgeAgentPackages(config)),
  ];
  if (!existsSync(config.dataDir)) {
    const detail = `${resolve(config.dataDir)} does not exist`;
    const todo = "set SERVICE_DATA_DIR to the server's folder, or start the server, which makes it";
    return [...findings, { check: 'data folder', level: 'fail', detail, todo }];
  }
  const certificate = judgeCertificate(config, now());
  return [...findings, ...certificate, ...examineFolder(config), ...(await examineDatabase(config, now))];
}

function judgeSettings(env: CliWorld['env']): Finding {
  const check = 'configuration';
  const unknown = unknownSettings(env);
  if (unknown.length === 0) return { check, level: 'ok', detail: 'every setting is valid' };
  const names = unknown.map((one) =>
    one.nearest !== null ? `${one.name} (did you mean ${one.nearest}?)` : one.name,
  );
  return {
    check,
    level: 'warn',
    detail: `unknown settings: ${names.join(', ')}`,
    todo: 'correct or remove them: a misspelt setting has no effect',
  };
}

function judgeListening(config: Config): Finding {
  const check = 'listening';
  const fault = plainHttpFault(config);
  const where = `on ${config.host}, port ${config.port}`;
  if (fault === null && config.acmeDomains.length > 0 && isLoopback(config.host)) {
    const detail = `${where}: the ACME server reaches it only through a forwarded port`;
    return { check, level: 'warn', detail, todo: 'set SERVICE_HOST=0.0.0.0, unless a port is forwarded' };
  }
  if (fault === null) return { check, level: 'ok', detail: where };
  return { check, level: 'fail', detail: fault, todo: 'set one of them, or the server does not start' };
}

function judgeAdvisories({ advisorySource, advisoryApiUrl }: Config): Finding {
  const check = 'advisory source';
  if (advisorySource !== 'off') return { check, level: 'ok', detail: `${advisorySource}, ${advisoryApiUrl}` };
  return {
    check,
    level: 'warn',
    detail: 'off: vulnerabilities are not checked, and every apt and dnf approval is blocked as unchecked',
    todo: 'set SERVICE_ADVISORY_SOURCE to mirror+api, mirror or api',
  };
}

function judgeMetrics({ metricsToken }: Config): Finding {
  const detail =
    metricsToken === null ? 'off: SERVICE_METRICS_TOKEN is not set' : 'at /metrics, by their token';
  return { check: 'metrics', level: 'ok', detail };
}

function examineFolder({ dataDir }: Config): Finding[] {
  try {
    const { bavail, bsize } = statfsSync(dataDir);
    return [judgeModes(modesIn(dataDir)), judgeDisk({ path: resolve(dataDir), freeBytes: bavail * bsize })];
  } catch (error) {
    const todo = "run this as the server's user";
    return [{ check: 'data folder', level: 'fail', detail: messageOf(error), todo }];
  }
}

function modesIn(dataDir: string): FileMode[] {
  const names = ['', ...readdirSync(dataDir, { recursive: true }).map(String)].slice(0, FILES_MAX);
  return names.flatMap((name) => {
    const path = join(dataDir, name);
    // The server may have removed its temporary files in the meantime.
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat ? [{ path, isFolder: stat.isDirectory(), mode: stat.mode }] : [];
  });
}

async function examineDatabase(config: Config, now: () => number): Promise<Finding[]> {
  const check = 'database';
  const isSqlite = config.databaseUrl === null;
  if (isSqlite && !existsSync(join(config.dataDir, SQLITE_FILE))) {
    const todo = 'start the server, which makes it, or restore a backup';
    return [{ check, level: 'fail', detail: `${SQLITE_FILE} is not in the data folder`, todo }];
  }
  let database: Database | null = null;
  try {
    database = openDatabase(config, { seals: sealsBeside(config), chaining: CHAINING });
    const version = await schemaVersion(database.read);
    const expected = MIGRATIONS.at(-1)?.version ?? 0;
    if (version !== expected) {
      const detail = `it is at version ${version ?? 'none'}; this program needs version ${expected}`;
      return [{ check, level: 'fail', detail, todo: remedyFor(version, expected) }];
    }
    const reached = { check, level: 'ok', detail: `${database.engine}, schema version ${version}` } as const;
    return [reached, ...(await examineContent(config, database, now))];
  } catch (error) {
    // The driver's message is the finding: this database can answer no other check.
    const todo = isSqlite ? 'restore a backup' : 'start PostgreSQL, or correct SERVICE_DATABASE_URL';
    return [{ check, level: 'fail', detail: `it cannot be used: ${messageOf(error)}`, todo }];
  } finally {
    await database?.close();
  }
}

function remedyFor(version: number | null, expected: number): string {
  if (version !== null && version > expected)
    return 'use the newer program, or restore a backup made before the upgrade';
  if (version !== null && isBeforeFirstRelease(version, MIGRATIONS))
    return 'it is from before the first release: start with an empty data folder or database';
  return 'start the server once: it brings the database up to date';
}

async function examineContent(config: Config, database: Database, now: () => number): Promise<Finding[]> {
  const integrity = await judgeIntegrity(database);
  // A damaged database fails the other checks, or answers them wrong.
  if (integrity.level === 'fail') return [integrity];
  const [newest] = await listEvents(database.read, { filter: {}, scope: null, limit: 1, before: null });
  const databaseMs = await databaseNowMs(database);
  // All read at this moment, so that the time of earlier checks does not look like a clock difference.
  const clock = judgeClock({ nowMs: now(), newestEventMs: newest?.created_at ?? null, databaseMs });
  return [
    integrity,
    await judgeKeys(config, database),
    await judgeEpochFile(config, database),
    await judgeLog(database, now()),
    await judgeOperators(database),
    ...(await judgeSealedRows(config, database)),
    await judgeAdvisoryMirror(config, database, now),
    await judgeExploitedList(config, database, now),
    await judgeEpssScores(config, database, now),
    await judgeOutsiders(database, now),
    await judgeBackups(database, now),
    await judgeRetentionClock(database),
    await judgeNotifications(config, database),
    await judgeAgentCache(config, database),
    judgeOpenFiles(await countAgentsWithKeySet(database.read, 0)),
    ...(await judgeExports(config, database, now)),
    ...(await judgePooler(config, database)),
    ...(await judgeBuffers(database)),
    clock,
  ];
}

/** Without the secret operators cannot be judged: their rows are refused, here as in the server. */
async function judgeSealedRows(config: Config, database: Database): Promise<Finding[]> {
  const { jwtSecret: configured, dataDir } = config;
  if (!readSecrets({ configured, dataDir })) return [NO_SECRET];
  return [await judgeSecondFactors(config, database), await judgeSeals(database)];
}

async function judgeIntegrity(database: Database): Promise<Finding> {
  const check = 'integrity';
  const faults = await checkIntegrity(database);
  if (faults.length === 0) return { check, level: 'ok', detail: 'pages, indexes and references are intact' };
  const todo = 'stop the server, keep a copy of the database, and restore the newest backup';
  return { check, level: 'fail', detail: faults.join('; '), todo };
}

async function judgeKeys(config: Config, { read }: Database): Promise<Finding> {
  const check = 'signing keys';
  const rows = await listKeys(read);
  const current = rows.find((row) => row.in_use === 1);
  const todo =
    'restore the key folder from a backup, or give the key as SERVICE_SIGNING_PRIVATE_KEY; see `tidegate keys list`';
  if (!current)
    return {
      check,
      level: 'fail',
      detail: 'no key is in use',
      todo: 'start the server once: it creates one',
    };
  const folder = existsSync(join(config.dataDir, 'keys'))
    ? openKeyFolder(config.dataDir)
    : { readAll: () => [] };
  const held = heldKeys(rows, config, folder);
  if (!held.ok) return { check, level: 'fail', detail: held.fault, todo };
  if (!held.keys.has(current.key_id)) {
    return {
      check,
      level: 'fail',
      detail: `version ${current.version} is in use, but its private half is missing`,
      todo,
    };
  }
  return {
    check,
    level: 'ok',
    detail: `version ${current.version} is in use; ${held.keys.size} private halves are here and match`,
  };
}

async function judgeEpochFile({ dataDir }: Config, { read }: Database): Promise<Finding> {
  const check = 'epoch file';
  const epoch = readEpochFile(dataDir);
  if (!epoch.ok) {
    return {
      check,
      level: 'fail',
      detail: epoch.fault,
      todo: 'see "Restore" in the operator guide before you start the server',
    };
  }
  const fleet = await readFleet(read);
  if (epoch.file === null) {
    const todo = 'restore the file; otherwise the next start counts as one after a restore';
    return { check, level: 'warn', detail: 'this database has none', todo };
  }
  const { epoch: known, events } = epoch.file;
  const head = await readHead(read);
  if (known > (fleet?.epoch ?? 0) || (known === fleet?.epoch && events.position > (head?.position ?? 0))) {
    const detail = 'the database is older than this file: it was replaced by an earlier copy';
    return {
      check,
      level: 'warn',
      detail,
      todo: 'start the server: it begins a new epoch and reports what was lost',
    };
  }
  return { check, level: 'ok', detail: `epoch ${known}, up to event ${events.position}` };
}

async function judgeLog({ read }: Database, nowMs: number): Promise<Finding> {
  const check = 'event log';
  const newest = await newestCheckpoint(read);
  const head = (await readHead(read))?.position ?? 0;
  if (newest && newest.position > head) {
    const detail = `it ends at ${head}, before its checkpoint at ${newest.position}: its end is missing`;
    return { check, level: 'fail', detail, todo: 'run `tidegate doctor --verify-events`' };
  }
  const waiting = await oldestUnchained(read);
  if (waiting !== null && waiting.created_at < nowMs - UNCHAINED_MAX_MS) {
    const detail = `events since ${rfc3339Seconds(waiting.created_at)} wait for their place in it`;
    return { check, level: 'warn', detail, todo: 'start the server, or read why in its log' };
  }
  const signed = newest === null ? 'not signed yet' : `signed up to ${newest.position}`;
  return { check, level: 'ok', detail: `${head} events, ${signed}; --verify-events checks them all` };
}

async function judgeOperators({ read }: Database): Promise<Finding> {
  const check = 'operators';
  const count = await countOperators(read);
  if (count > 0) return { check, level: 'ok', detail: `${count}` };
  return {
    check,
    level: 'warn',
    detail: 'there are none',
    todo: 'open the link printed at the start, or make another: `tidegate operators link`',
  };
}

function messageOf(error: unknown): string {
  if (error instanceof DatabaseFault) return error.message;
  return error instanceof Error ? error.message : String(error);
}
