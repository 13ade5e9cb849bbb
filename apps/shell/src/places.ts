import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where the shell stores its files (XDG base directories; their defaults on other systems too). */
export interface Places {
  readonly configFile: string;
  /** Sessions, if there is no keyring. */
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

/** The desktop's folder for downloads (xdg-user-dirs; its default on other systems too). */
export function findDownloadFolder(env: Readonly<Record<string, string | undefined>>): string {
  const home = env.HOME || homedir();
  const named = env.XDG_DOWNLOAD_DIR || folderInUserDirs(env.XDG_CONFIG_HOME || join(home, '.config'), home);
  return named !== null && isAbsolute(named) ? named : join(home, 'Downloads');
}

/** Reads a shell script, of which only these lines count: `XDG_DOWNLOAD_DIR="$HOME/…"` or `="/…"`. */
function folderInUserDirs(config: string, home: string): string | null {
  let text: string;
  try {
    text = readFileSync(join(config, 'user-dirs.dirs'), 'utf8');
  } catch {
    return null;
  }
  const value = /^\s*XDG_DOWNLOAD_DIR="((?:[^"\\]|\\.)*)"\s*$/m.exec(text)?.[1];
  return value?.replace(/^\$HOME(?=\/|$)/, () => home).replace(/\\(.)/g, '$1') ?? null;
}
