import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Application, createApplication } from './app.ts';
import type { Config } from './config.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import type { Clock } from './platform/clock.ts';
import { type Database, DatabaseFault } from './platform/db/engine.ts';
import { migrate } from './platform/db/migrate.ts';
import { openPostgres } from './platform/db/postgres.ts';
import { openSqlite } from './platform/db/sqlite.ts';
import { createIdMaker, type RandomBytes } from './platform/ids.ts';
import type { Log } from './platform/log.ts';
import type { Platform } from './platform/platform.ts';
import { loadSecrets } from './platform/secrets.ts';
import { openKeyFolder } from './signing-keys/key-folder.ts';
import { openKeyRing } from './signing-keys/key-ring.ts';
import { loadKeys } from './signing-keys/load-keys.ts';

export interface World {
  log: Log;
  now: Clock;
  random: RandomBytes;
}

export type StartOutcome =
  | { ok: true; application: Application; url: string; stop: () => Promise<void> }
  /** One line that says what is wrong and what is allowed. */
  | { ok: false; fault: string };

/** Opens the database, brings it and the keys up to date, and listens. Leaves nothing open when it refuses. */
export async function startServer(config: Config, world: World): Promise<StartOutcome> {
  const tls = readTls(config);
  if (!tls.ok) return tls;
  const opened = openDatabase(config, world.log);
  if (!opened.ok) return opened;
  const { database } = opened;
  const platform: Platform = { ...world, database, newId: createIdMaker(world.now, world.random) };
  try {
    const outcome = await openApplication(config, platform, tls.tls);
    if (!outcome.ok) {
      await database.close();
      return outcome;
    }
    const { application } = outcome;
    const url = await listen(application, config);
    if (!url.ok) {
      await application.stop();
      await database.close();
      return url;
    }
    world.log.info(`migrations applied ${outcome.migrations}`);
    world.log.info('listening', { url: url.url });
    if (application.setupPath !== null) announce(`${config.baseUrl ?? url.url}${application.setupPath}`);
    return {
      ok: true,
      application,
      url: url.url,
      async stop() {
        await application.stop();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    if (error instanceof DatabaseFault) {
      return { ok: false, fault: `the database cannot be used: ${error.message}` };
    }
    throw error;
  }
}

/** The link holds a secret: it goes to the terminal or journal of who started the server, not into the log. */
function announce(link: string): void {
  process.stderr.write(`\nOpen this link once, within an hour, to make the first operator:\n  ${link}\n\n`);
}

type Opened = { ok: true; application: Application; migrations: number } | { ok: false; fault: string };

async function openApplication(config: Config, platform: Platform, tls: Tls | null): Promise<Opened> {
  const { log, random, database, now } = platform;
  const migrated = await migrate(database, { migrations: MIGRATIONS, now });
  if (!migrated.ok) {
    const versions = `the database is at version ${migrated.databaseVersion}, this program knows ${migrated.programVersion}`;
    return {
      ok: false,
      fault: `${versions}: start the newer program, or restore a backup made before the upgrade`,
    };
  }
  const secrets = loadSecrets({ configured: config.jwtSecret, dataDir: config.dataDir, random, log });
  const keyFolder = openKeyFolder(config.dataDir);
  const keys = await loadKeys(platform, config, keyFolder);
  if (!keys.ok) return keys;
  const keyRing = await openKeyRing(platform, keys);
  const application = await createApplication({ config, platform, secrets, keyFolder, keyRing, tls });
  return { ok: true, application, migrations: migrated.applied };
}

type OpenedDatabase = { ok: true; database: Database } | { ok: false; fault: string };

function openDatabase(config: Config, log: Log): OpenedDatabase {
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    accessSync(config.dataDir, constants.W_OK | constants.X_OK);
    if (config.databaseUrl === null) {
      return { ok: true, database: openSqlite(join(config.dataDir, 'tidegate.db')) };
    }
  } catch (error) {
    const fault = `SERVICE_DATA_DIR is ${JSON.stringify(config.dataDir)} (${messageOf(error)}); allowed: a folder that the server can write to`;
    return { ok: false, fault };
  }
  const onError = (error: Error) => log.warn('database connection lost', { cause: error.message });
  return { ok: true, database: openPostgres(config.databaseUrl, { onError }) };
}

type Tls = { cert: string; key: string };
type ReadTls = { ok: true; tls: Tls | null } | { ok: false; fault: string };

/** The pair, tried out: what TLS cannot use is told before anything is opened, and never shown. */
function readTls({ tlsCert, tlsKey }: Config): ReadTls {
  if (tlsCert === null || tlsKey === null) return { ok: true, tls: null };
  try {
    const tls = { cert: pemOf(tlsCert), key: pemOf(tlsKey) };
    createSecureContext(tls);
    return { ok: true, tls };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const fault = `SERVICE_TLS_CERT and SERVICE_TLS_KEY are hidden values that cannot be used (${code}); allowed: PEM text or the path of a readable file, a certificate and the key that belongs to it`;
    return { ok: false, fault };
  }
}

function pemOf(given: string): string {
  return given.includes('-----BEGIN') ? given : readFileSync(given, 'utf8');
}

async function listen(
  application: Application,
  { host, port }: Config,
): Promise<{ ok: true; url: string } | { ok: false; fault: string }> {
  try {
    return { ok: true, url: await application.listen() };
  } catch (error) {
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
