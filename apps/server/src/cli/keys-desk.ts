import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SigningKey } from '@tidegate/signing/sign';
import { readConfig } from '../config.ts';
import { MIGRATIONS } from '../migrations/migrations.ts';
import { type Database, DatabaseFault } from '../platform/db/engine.ts';
import { openPostgres } from '../platform/db/postgres.ts';
import { schemaVersion } from '../platform/db/schema-version.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { createIdMaker } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import type { Platform } from '../platform/platform.ts';
import { awaitsRoot } from '../signing-keys/install-key-set.ts';
import { type KeyFolder, openKeyFolder } from '../signing-keys/key-folder.ts';
import { type Vouchers, vouchersOf } from '../signing-keys/key-set.ts';
import { heldKeys } from '../signing-keys/load-keys.ts';
import { listKeys, readFleet, type SigningKeyRow } from '../signing-keys/store.ts';
import { type CliWorld, EXIT, type ExitCode } from './command.ts';

/** The keys of the data directory, beside a server that may be running on it. */
export interface KeyDesk {
  platform: Platform;
  folder: KeyFolder;
  fleetId: string;
  /** Newest first. */
  rows: readonly SigningKeyRow[];
  held: Map<string, SigningKey>;
  /** Who did it, for the events. */
  actor: string;
}

/** What stops a command, told in one line. */
export class KeyFault extends Error {}

/**
 * Opens database and key folder as the server of this environment would, does the work, and closes them. It works on the
 * data and not over the API: keys are changed when the server does not start as well, which a lost key is a reason for,
 * and whoever may read the key folder needs no token on top. A running server reads the keys again within ten seconds.
 */
export async function withKeyDesk(
  world: CliWorld,
  use: (desk: KeyDesk) => Promise<ExitCode>,
): Promise<ExitCode> {
  let database: Database | null = null;
  try {
    const read = readConfig(world.env);
    if (!read.ok) throw new KeyFault(read.fault);
    const { config } = read;
    database = await openExisting(config);
    const { now, random } = world;
    const log = createLog({ level: 'warn', format: 'text', now, write: world.err });
    const platform: Platform = { database, log, now, random, newId: createIdMaker(now, random) };
    const folder = openKeyFolder(config.dataDir);
    const fleet = await readFleet(database.read);
    const rows = await listKeys(database.read);
    if (!fleet || rows.length === 0) throw new KeyFault('no server has been started on this data yet');
    const held = heldKeys(rows, config, folder);
    if (!held.ok) throw new KeyFault(held.fault);
    const actor = `tidegate keys (${world.env.SUDO_USER ?? world.env.USER ?? 'unknown'})`;
    return await use({ platform, folder, fleetId: fleet.fleet_id, rows, held: held.keys, actor });
  } catch (error) {
    if (!(error instanceof KeyFault) && !(error instanceof DatabaseFault)) throw error;
    world.err(error.message);
    return EXIT.failed;
  } finally {
    await database?.close();
  }
}

/** Who can vouch for a change: the key in use, or where its private half is lost the newest other one that is here. */
export function vouchersAt({ rows, held }: KeyDesk): Vouchers | null {
  const known = rows.filter((row) => row.status === 'active' && !awaitsRoot(row) && held.has(row.key_id));
  const first = known.find((row) => row.in_use === 1) ?? known[0];
  const key = first && held.get(first.key_id);
  return key ? vouchersOf(key, held) : null;
}

export function rowOf({ rows }: KeyDesk, version: number): SigningKeyRow {
  const row = rows.find((each) => each.version === version);
  if (row) return row;
  const versions = rows.map((each) => each.version).reverse();
  throw new KeyFault(`there is no signing key version ${version}; there are: ${versions.join(', ')}`);
}

async function openExisting(config: { dataDir: string; databaseUrl: string | null }): Promise<Database> {
  const { dataDir, databaseUrl } = config;
  const file = join(dataDir, 'tidegate.db');
  if (!existsSync(dataDir) || (databaseUrl === null && !existsSync(file))) {
    throw new KeyFault(
      `there is no database in ${JSON.stringify(dataDir)}; set SERVICE_DATA_DIR to the server's folder`,
    );
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    throw new KeyFault(`${JSON.stringify(dataDir)} is not yours to change; run this as the server's user`);
  }
  const database = databaseUrl === null ? openSqlite(file) : openPostgres(databaseUrl, { connections: 2 });
  const version = await schemaVersion(database.read);
  const expected = MIGRATIONS.at(-1)?.version ?? 0;
  if (version === expected) return database;
  await database.close();
  throw new KeyFault(
    `the database is at version ${version ?? 'none'} and this program at ${expected}: use the program that the server runs`,
  );
}
