import { accessSync, constants, mkdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { hasAgents } from './agents/store.ts';
import { type Application, createApplication } from './app.ts';
import type { Config } from './config.ts';
import { type ExportTargets, readExportTargets } from './event-exports/read-targets.ts';
import { CHAINING } from './events/chain-events.ts';
import { MIGRATIONS } from './migrations.ts';
import { isCommonPassword } from './operators/passwords/common-passwords.ts';
import { passwordFault } from './operators/passwords/password-rules.ts';
import { plainHttpFault } from './plain-http.ts';
import type { Clock } from './platform/clock.ts';
import { createRowSeals, type RowSeals } from './platform/db/create-row-seals.ts';
import { type Database, DatabaseFault } from './platform/db/engine.ts';
import { beforeReleaseFault, type MigrateOutcome, type Migration, migrate } from './platform/db/migrate.ts';
import { openDatabase } from './platform/db/open.ts';
import { createIdMaker, type RandomBytes } from './platform/ids.ts';
import { holdInstanceLock, type InstanceLock } from './platform/instance-lock.ts';
import type { Log } from './platform/log.ts';
import type { Platform } from './platform/platform.ts';
import { loadSecrets } from './platform/secrets.ts';
import { watchQueries } from './platform/slow-log.ts';
import { readTrustedRoot, type TrustedRoot } from './provenance/verify-bundle.ts';
import { backUpBeforeUpgrade } from './restore/back-up-before-upgrade.ts';
import { openRecovery } from './restore/open-recovery.ts';
import { raiseKeySets } from './restore/raise-key-sets.ts';
import { openKeyFolder } from './signing-keys/key-folder.ts';
import { openKeyRing } from './signing-keys/key-ring.ts';
import { loadKeys } from './signing-keys/load-keys.ts';
import { openCertificateFiles } from './tls/certificate-files.ts';
import { openAcme } from './tls/open-acme.ts';
import { readServerCa, serverCaOf } from './tls/server-ca.ts';
import type { ServerTls } from './tls/server-tls.ts';
import { WorkersFault } from './workers/supervise-workers.ts';

export interface World {
  log: Log;
  now: Clock;
  random: RandomBytes;
  /** Those of the program, unless a test brings those of a later release. */
  migrations?: readonly Migration[];
}

export type StartOutcome =
  | {
      ok: true;
      application: Application;
      url: string;
      /** False until the first host has ever enrolled. */
      hasHosts: () => Promise<boolean>;
      /** From now on the server is not ready; resolves after the time in which balancers notice it. */
      drain: () => Promise<void>;
      /** Looks for a newer certificate at once; null where the server has none. */
      lookForCertificate: (() => Promise<void>) | null;
      /** Resolves, with a line that says why, when the server cannot go on; null: it never does. */
      lost: Promise<string> | null;
      stop: () => Promise<void>;
    }
  /** One line that says what is wrong and what is allowed. */
  | { ok: false; fault: string };

/** Opens the database, updates it and the keys, and listens. Leaves nothing open when it refuses. */
export async function startServer(config: Config, world: World): Promise<StartOutcome> {
  const plain = plainHttpFault(config);
  if (plain !== null) return { ok: false, fault: plain };
  const tls = openTls(config, world.log);
  if (!tls.ok) return tls;
  const ca = readServerCa(config.tlsCaCert);
  if (!ca.ok) return ca;
  const read = readTrustedRoot(config.sigstoreTrustedRoot);
  if (!read.ok) return read;
  const exports = readExportTargets(config);
  if (!exports.ok) return exports;
  const weak = weakPasswordOf(config);
  if (weak !== null) return { ok: false, fault: weak };
  const opened = new AsyncDisposableStack();
  try {
    const outcome = await openAll(config, {
      ...{ world, files: tls.tls, trustedRoot: read.root, opened },
      exportTargets: exports.targets,
      ca: ca.pem,
    });
    if (!outcome.ok) {
      await opened.disposeAsync();
      return outcome;
    }
    const { application, url, database, tls: inUse } = outcome;
    world.log.info(`migrations applied ${outcome.migrations}`);
    const { workers } = config;
    world.log.info('listening', { url, ...(workers > 1 && { workers }) });
    if (application.setupPath !== null) announce(`${config.baseUrl ?? url}${application.setupPath}`);
    const lookForCertificate = inUse && (() => inUse.look('operator'));
    async function drain(): Promise<void> {
      application.drain();
      await setTimeout(config.drainSeconds * 1_000);
    }
    return {
      ok: true,
      application,
      url,
      hasHosts: () => hasAgents(database.read),
      lookForCertificate,
      drain,
      lost: application.lost,
      stop: () => opened.disposeAsync(),
    };
  } catch (error) {
    await opened.disposeAsync();
    if (error instanceof DatabaseFault) {
      return { ok: false, fault: `the database cannot be used: ${error.message}` };
    }
    throw error;
  }
}

/** The first operator's password must pass the same rules as any other. */
function weakPasswordOf({ adminUsername: username, adminPassword: password }: Config): string | null {
  if (username === null || password === null) return null;
  const fault = passwordFault({ username, password, hasSecondFactor: false, isCommon: isCommonPassword });
  return fault && `SERVICE_ADMIN_PASSWORD is a hidden value that ${fault}`;
}

/** The link contains a secret: it is printed to the terminal or journal of the starting user, never to the log. */
function announce(link: string): void {
  process.stderr.write(`\nOpen this link once, within an hour, to make the first operator:\n  ${link}\n\n`);
}

interface Opening {
  world: World;
  /** The certificate of the settings; null where there is none, or ACME gets it. */
  files: ServerTls | null;
  trustedRoot: TrustedRoot | null;
  exportTargets: ExportTargets;
  /** Of the private CA that the settings name. */
  ca: string | null;
  /** Everything opened, to be closed in reverse order. */
  opened: AsyncDisposableStack;
}

type Opened =
  | {
      ok: true;
      application: Application;
      url: string;
      database: Database;
      migrations: number;
      tls: ServerTls | null;
    }
  | { ok: false; fault: string };

async function openAll(
  config: Config,
  { world, files, trustedRoot, exportTargets, ca, opened }: Opening,
): Promise<Opened> {
  const { log, now, random, migrations = MIGRATIONS } = world;
  // The secret is read after the folder is locked.
  const seals = createRowSeals(() => secrets.rowSeals);
  const held = openDataDir(config, { log, seals });
  if (!held.ok) return held;
  const { lock, database } = held;
  opened.defer(lock.release);
  opened.defer(database.close);
  const secrets = loadSecrets({ configured: config.jwtSecret, dataDir: config.dataDir, random, log });
  const plain: Platform = { ...world, database, newId: createIdMaker(now, random) };
  const backup = { config, database, migrations, key: secrets.backups, nowMs: now(), log };
  const backedUp = await backUpBeforeUpgrade(backup);
  if (!backedUp.ok) return backedUp;
  const migrated = await migrate(database, { migrations, now });
  if (!migrated.ok) return { ok: false, fault: faultOf(migrated) };
  const keyFolder = openKeyFolder(config.dataDir);
  const recovered = await openRecovery(plain, { config, keyFolder });
  if (!recovered.ok) return recovered;
  const { recovery } = recovered;
  opened.defer(recovery.close);
  const platform: Platform = { ...plain, database: recovery.database };
  const keys = await loadKeys(platform, config, keyFolder);
  if (!keys.ok) return keys;
  const keyRing = await openKeyRing(platform, keys);
  await raiseKeySets(platform, keyRing);
  recovery.whenRestored(async () => {
    await keyRing.reload();
    await raiseKeySets(platform, keyRing);
  });
  const acme = await openTlsByAcme(config, { world, opened });
  if (!acme.ok) return acme;
  const tls = files ?? acme.tls;
  const { journal } = recovery;
  const application = await createApplication({
    config,
    platform,
    schemaVersion: migrated.version,
    secrets,
    keyFolder,
    keyRing,
    tls,
    serverCa: () => serverCaOf({ configured: ca, chain: tls?.current()?.cert ?? null }),
    trustedRoot,
    exportTargets,
    journal,
  });
  opened.defer(application.stop);
  await recovery.state.record();
  await recovery.state.compact();
  const url = await listen(application, config);
  if (!url.ok) return url;
  recovery.state.start();
  return { ok: true, application, url: url.url, database, migrations: migrated.applied, tls };
}

function faultOf(refused: Extract<MigrateOutcome, { ok: false }>): string {
  switch (refused.reason) {
    case 'newer_database':
      return `the database is at version ${refused.databaseVersion}, this program supports ${refused.programVersion}: start the newer program, or restore the backup that it made before the upgrade (folder backups of the data folder)`;
    case 'before_first_release':
      return beforeReleaseFault(refused.databaseVersion);
  }
}

type OpenedDataDir = { ok: true; lock: InstanceLock; database: Database } | { ok: false; fault: string };

function openDataDir(config: Config, { log, seals }: { log: Log; seals: RowSeals }): OpenedDataDir {
  const { dataDir } = config;
  const given = `SERVICE_DATA_DIR is ${JSON.stringify(dataDir)}`;
  let lock: InstanceLock | null = null;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.W_OK | constants.X_OK);
    lock = holdInstanceLock(dataDir);
    if (!lock) {
      const allowed = 'allowed: a folder used by no other server';
      return { ok: false, fault: `${given}, which another server is using; ${allowed}` };
    }
    const onError = (error: Error) => log.warn('database connection lost', { cause: error.message });
    const { logSlowQueryMs: thresholdMs } = config;
    const elapsedMs = () => performance.now();
    const watch = thresholdMs === 0 ? null : watchQueries({ thresholdMs, log, elapsedMs });
    const options = { seals, chaining: CHAINING, onError, watch };
    return { ok: true, lock, database: openDatabase(config, options) };
  } catch (error) {
    lock?.release();
    const allowed = 'allowed: a folder that the server can write to';
    return { ok: false, fault: `${given} (${messageOf(error)}); ${allowed}` };
  }
}

type OpenedTls = { ok: true; tls: ServerTls | null } | { ok: false; fault: string };

/** A fault is reported before anything is opened, without the values. */
function openTls({ tlsCert, tlsKey }: Config, log: Log): OpenedTls {
  if (tlsCert === null || tlsKey === null) return { ok: true, tls: null };
  const opened = openCertificateFiles({ cert: tlsCert, key: tlsKey }, log);
  if (opened.ok) return opened;
  const fault = `SERVICE_TLS_CERT and SERVICE_TLS_KEY are hidden values that cannot be used: ${opened.fault}; allowed: PEM text or the path of a readable file, a certificate and the key that belongs to it`;
  return { ok: false, fault };
}

async function openTlsByAcme(
  config: Config,
  { world, opened }: Pick<Opening, 'world' | 'opened'>,
): Promise<OpenedTls> {
  if (config.acmeDomains.length === 0) return { ok: true, tls: null };
  return openAcme(config, { world, defer: (end) => opened.defer(end) });
}

async function listen(
  application: Application,
  { host, port }: Config,
): Promise<{ ok: true; url: string } | { ok: false; fault: string }> {
  try {
    return { ok: true, url: await application.listen() };
  } catch (error) {
    if (error instanceof WorkersFault) return { ok: false, fault: error.message };
    const given = `SERVICE_HOST is ${JSON.stringify(host)} and SERVICE_PORT is ${port}`;
    return {
      ok: false,
      fault: `${given} (${messageOf(error)}); allowed: an address of this machine and a free port`,
    };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
