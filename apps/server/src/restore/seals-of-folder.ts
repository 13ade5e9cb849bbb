import type { Config } from '../config.ts';
import { createRowSeals, type RowSeals } from '../platform/db/create-row-seals.ts';
import type { RandomBytes } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { loadSecrets } from '../platform/secrets.ts';

/**
 * Seals under the secret that the data folder has when the first one is made. A restore may have brought the
 * secret along; if there is none, one is created, as at a start.
 */
export function sealsOfFolder({
  config,
  random,
  log,
}: {
  config: Pick<Config, 'jwtSecret' | 'dataDir'>;
  random: RandomBytes;
  log: Log;
}): RowSeals {
  const { jwtSecret: configured, dataDir } = config;
  return createRowSeals(() => loadSecrets({ configured, dataDir, random, log }).rowSeals);
}
