import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, type ExitCode } from '@tidegate/terminal/read-args';
import { type Config, readConfig } from '../config.ts';
import { CHAINING } from '../events/chain-events.ts';
import { watchSeals } from '../events/watch-seals.ts';
import { MIGRATIONS } from '../migrations.ts';
import { createRowSeals, type RowSeals } from '../platform/db/create-row-seals.ts';
import { type Database, DatabaseFault } from '../platform/db/engine.ts';
import { beforeReleaseFault, isBeforeFirstRelease } from '../platform/db/migrate.ts';
import { openDatabase, SQLITE_FILE } from '../platform/db/open.ts';
import { schemaVersion } from '../platform/db/schema-version.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { createIdMaker } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import type { Platform } from '../platform/platform.ts';
import { readSecrets } from '../platform/secrets.ts';
import type { CliWorld } from './command.ts';

/** The data directory and database of a server, which may be running. */
export interface Installation {
  config: Config;
  platform: Platform;
}

/** Stops a command with one line of text. */
export class CommandFault extends Error {}

/**
 * Opens the database that the server of this environment uses, does the work, and closes it. Creates neither database nor
 * folder, and refuses a database of another schema version.
 */
export async function withInstallation(
  world: CliWorld,
  use: (installation: Installation) => Promise<ExitCode>,
): Promise<ExitCode> {
  let database: Database | null = null;
  try {
    const read = readConfig(world.env);
    if (!read.ok) throw new CommandFault(read.fault);
    const { config } = read;
    database = await openExisting(config);
    const { now, random } = world;
    const log = createLog({ level: 'warn', format: 'text', now, write: world.err });
    const newId = createIdMaker(now, random);
    const platform: Platform = { database, log, now, random, newId };
    const watch = watchSeals(platform);
    try {
      return await use({ config, platform });
    } finally {
      await watch.settled();
    }
  } catch (error) {
    const isTold =
      error instanceof CommandFault || error instanceof DatabaseFault || error instanceof Refusal;
    if (!isTold) throw error;
    world.err(error.message);
    return EXIT.failed;
  } finally {
    await database?.close();
  }
}

/** Row seals under the secret of a server's data folder; the first use throws when there is no secret. */
export function sealsBeside({ jwtSecret, dataDir }: Config): RowSeals {
  return createRowSeals(() => {
    const secrets = readSecrets({ configured: jwtSecret, dataDir });
    if (secrets) return secrets.rowSeals;
    throw new CommandFault(
      `the token secret, which seals operators and tokens, is not in ${JSON.stringify(dataDir)}; set SERVICE_DATA_DIR or SERVICE_JWT_SECRET to the server's value`,
    );
  });
}

async function openExisting(config: Config): Promise<Database> {
  const { dataDir, databaseUrl } = config;
  if (!existsSync(dataDir) || (databaseUrl === null && !existsSync(join(dataDir, SQLITE_FILE)))) {
    throw new CommandFault(
      `there is no database in ${JSON.stringify(dataDir)}; set SERVICE_DATA_DIR to the server's folder`,
    );
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    throw new CommandFault(`you may not write to ${JSON.stringify(dataDir)}; run this as the server's user`);
  }
  const database = openDatabase(config, { seals: sealsBeside(config), chaining: CHAINING });
  const version = await schemaVersion(database.read);
  const expected = MIGRATIONS.at(-1)?.version ?? 0;
  if (version === expected) return database;
  await database.close();
  if (version !== null && isBeforeFirstRelease(version, MIGRATIONS))
    throw new CommandFault(beforeReleaseFault(version));
  throw new CommandFault(
    `the database is at version ${version ?? 'none'}, and this program needs version ${expected}: use the version of the program that the server runs`,
  );
}
