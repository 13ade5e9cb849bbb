import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findTool, runTool } from './run-tool.ts';

const OLDEST_MAJOR = 15;
const NEEDED = ['initdb', 'pg_ctl', 'postgres', 'createdb'];
const DEBIAN_ROOT = '/usr/lib/postgresql';
const INSTALL_HINT = `PostgreSQL ${OLDEST_MAJOR} or newer is not installed (Debian: apt-get install postgresql)`;

/** A user and group by number. */
export type Owner = { uid: number; gid: number };

/** The folder with the server's programs: the one on `path` first, then the newest of Debian's. */
export async function findPrograms(path: string): Promise<{ folder: string } | { missing: string }> {
  if (process.platform === 'win32') return { missing: 'the test server listens on a Unix socket only' };
  const found: string[] = [];
  for (const folder of [...onPath(path), ...debianFolders()]) {
    if (!NEEDED.every((name) => existsSync(join(folder, name)))) continue;
    const version = await runTool(join(folder, 'postgres'), ['--version']);
    if (Number(/ (\d+)/.exec(version)?.[1]) >= OLDEST_MAJOR) return { folder };
    found.push(version.trim());
  }
  return { missing: found.length > 0 ? `${INSTALL_HINT}; found ${found.join(', ')}` : INSTALL_HINT };
}

/** `initdb` on PATH is often one link among few; its real folder has them all. */
function onPath(path: string): string[] {
  const initdb = findTool('initdb', path);
  return initdb === null ? [] : [dirname(realpathSync(initdb))];
}

function debianFolders(): string[] {
  if (!existsSync(DEBIAN_ROOT)) return [];
  const majors = readdirSync(DEBIAN_ROOT).filter((name) => /^\d+$/.test(name));
  return majors.sort((a, b) => Number(b) - Number(a)).map((major) => join(DEBIAN_ROOT, major, 'bin'));
}

/**
 * Whom the server runs as: PostgreSQL refuses root, so root lends it `postgres`, or else `nobody`. Undefined means
 * the present user.
 */
export function chooseOwner(passwd = '/etc/passwd'): Owner | undefined | { missing: string } {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync(passwd, 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = (lines.find((line) => line.startsWith(`${name}:`)) ?? '').split(':');
    if (Number(uid) > 0 && Number(gid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  return { missing: 'PostgreSQL refuses to run as root, and there is no user postgres or nobody' };
}
