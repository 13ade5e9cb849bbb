import type { SigningKey } from '@tidegate/signing/sign';
import type { ExitCode } from '@tidegate/terminal/read-args';
import type { Platform } from '../platform/platform.ts';
import { awaitsRoot } from '../signing-keys/install-key-set.ts';
import { type KeyFolder, openKeyFolder } from '../signing-keys/key-folder.ts';
import { type Vouchers, vouchersOf } from '../signing-keys/key-set.ts';
import { heldKeys } from '../signing-keys/load-keys.ts';
import { listKeys, readFleet, type SigningKeyRow } from '../signing-keys/store.ts';
import type { CliWorld } from './command.ts';
import { CommandFault, withInstallation } from './open-installation.ts';

/** The signing keys of the data directory, where a server may be running. */
export interface KeyContext {
  platform: Platform;
  folder: KeyFolder;
  fleetId: string;
  /** Newest first. */
  rows: readonly SigningKeyRow[];
  held: Map<string, SigningKey>;
  /** Who acts, for the events. */
  actor: string;
}

/** Stops a keys command with one line of text. */
export class KeyFault extends CommandFault {}

/**
 * Opens database and key folder as the server of this environment would, does the work, and closes them. It bypasses the
 * API: keys must be changeable when the server does not start, as after losing a key, and whoever can read the key folder
 * needs no token as well. A running server reloads the keys within ten seconds.
 */
export function withKeyContext(
  world: CliWorld,
  use: (context: KeyContext) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withInstallation(world, async ({ config, platform }) => {
    const { read } = platform.database;
    const folder = openKeyFolder(config.dataDir);
    const fleet = await readFleet(read);
    const rows = await listKeys(read);
    if (!fleet || rows.length === 0) throw new KeyFault('no server has been started on this data yet');
    const held = heldKeys(rows, config, folder);
    if (!held.ok) throw new KeyFault(held.fault);
    const actor = `tidegate keys (${world.env.SUDO_USER ?? world.env.USER ?? 'unknown'})`;
    return use({ platform, folder, fleetId: fleet.fleet_id, rows, held: held.keys, actor });
  });
}

/** Who can sign a change: the key in use, or if its private half is lost, the newest other one here. */
export function vouchersAt({ rows, held }: KeyContext): Vouchers | null {
  const known = rows.filter((row) => row.status === 'active' && !awaitsRoot(row) && held.has(row.key_id));
  const first = known.find((row) => row.in_use === 1) ?? known[0];
  const key = first && held.get(first.key_id);
  return key ? vouchersOf(key, held) : null;
}

export function rowOf({ rows }: KeyContext, version: number): SigningKeyRow {
  const row = rows.find((each) => each.version === version);
  if (row) return row;
  const versions = rows.map((each) => each.version).reverse();
  throw new KeyFault(`there is no signing key version ${version}; there are: ${versions.join(', ')}`);
}
