import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where the shell keeps what it keeps (XDG base directories; their defaults elsewhere too). */
export interface Places {
  readonly configFile: string;
  /** Sessions, where there is no keyring. */
  readonly secretsFile: string;
  readonly cacheFolder: string;
  readonly dataFolder: string;
}

export function findPlaces(env: Readonly<Record<string, string | undefined>>): Places {
  const home = env.HOME || homedir();
  const data = join(env.XDG_DATA_HOME || join(home, '.local/share'), 'tidegate-shell');
  return {
    configFile: join(env.XDG_CONFIG_HOME || join(home, '.config'), 'tidegate/shell.json'),
    secretsFile: join(data, 'sessions.json'),
    cacheFolder: join(env.XDG_CACHE_HOME || join(home, '.cache'), 'tidegate-shell'),
    dataFolder: data,
  };
}
