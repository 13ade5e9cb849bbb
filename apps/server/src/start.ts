import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Application, createApplication } from './app.ts';
import type { Config } from './config.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import type { Clock } from './platform/clock.ts';
import type { Database } from './platform/db/engine.ts';
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
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const database = openDatabase(config, world.log);
  const platform: Platform = { ...world, database, newId: createIdMaker(world.now, world.random) };
  try {
    const outcome = await openApplication(config, platform);
    if (!outcome.ok) {
      await database.close();
      return outcome;
    }
    const { application } = outcome;
    const url = await application.listen();
    world.log.info(`migrations applied ${outcome.migrations}`);
    world.log.info('listening', { url });
    if (application.setupPath !== null) announce(`${config.baseUrl ?? url}${application.setupPath}`);
    return {
      ok: true,
      application,
      url,
      async stop() {
        await application.stop();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The link holds a secret: it goes to the terminal or journal of who started the server, not into the log. */
function announce(link: string): void {
  process.stderr.write(`\nOpen this link once, within an hour, to make the first operator:\n  ${link}\n\n`);
}

type Opened = { ok: true; application: Application; migrations: number } | { ok: false; fault: string };

async function openApplication(config: Config, platform: Platform): Promise<Opened> {
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
  const tls = readTls(config);
  const application = await createApplication({ config, platform, secrets, keyFolder, keyRing, tls });
  return { ok: true, application, migrations: migrated.applied };
}

function openDatabase(config: Config, log: Log): Database {
  if (config.databaseUrl === null) return openSqlite(join(config.dataDir, 'tidegate.db'));
  const onError = (error: Error) => log.warn('database connection lost', { cause: error.message });
  return openPostgres(config.databaseUrl, { onError });
}

function readTls({ tlsCert, tlsKey }: Config): { cert: string; key: string } | null {
  if (tlsCert === null || tlsKey === null) return null;
  return { cert: pemOf(tlsCert), key: pemOf(tlsKey) };
}

function pemOf(given: string): string {
  return given.includes('-----BEGIN') ? given : readFileSync(given, 'utf8');
}
