import { chmodSync, chownSync, existsSync, mkdtempSync, realpathSync, statfsSync } from 'node:fs';
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startLeash } from './leash.ts';
import { chooseOwner, findPrograms, type Owner } from './postgres-programs.ts';
import { findTool, runTool } from './run-tool.ts';

const SUPERUSER = 'postgres';
const START_LIMIT_SECONDS = '60';

export type PostgresOptions = {
  /** Survive power cuts as in production (durability tests). Without it data may be lost in a crash of the machine. */
  fsync?: boolean;
  /** Keep the files in memory where the machine has room: a database is made in a tenth of the time and less. */
  memory?: boolean;
  /** The number of the one CPU core that the server may use (benchmarks). */
  cpu?: number;
  /** More settings, by their names in postgresql.conf. */
  settings?: Record<string, string | number>;
  /** Where to look for the server's programs before Debian's own folders. */
  path?: string;
};

/** A running throw-away PostgreSQL server. */
export type Postgres = {
  /** The address of a database, for `pg` and for libpq alike. */
  url(databaseName: string): string;
  /** Makes a database, empty or as a copy of `template` (a name or an address; nobody may be using it). */
  createDatabase(template?: string): Promise<string>;
  /** Kills the server without a checkpoint, as a crash does, and starts it again on the same files. */
  crash(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
};

/**
 * Starts a PostgreSQL server of its own in a temporary folder; it listens on a Unix socket only, that the present
 * user and root can reach. Where PostgreSQL is not to be had the answer says what is missing. The server and its
 * files go away with this process or worker thread, however that ends. Throws when a server that is there fails.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres | { missing: string }> {
  const programs = await findPrograms(options.path ?? process.env.PATH ?? '');
  if ('missing' in programs) return programs;
  const owner = chooseOwner();
  if (owner && 'missing' in owner) return owner;
  const taskset = options.cpu === undefined ? null : findTool('taskset');
  if (options.cpu !== undefined && taskset === null)
    return { missing: 'taskset is not installed (util-linux)' };

  const { folder } = programs;
  const home = ownedFolder(owner, options.memory ? roomyFolder() : '/tmp');
  const data = join(home, 'data');
  const asOwner = owner === undefined ? {} : { owner };
  const run = (program: string, args: string[]) => runTool(join(folder, program), args, asOwner);
  const stopAtOnce = ['-D', data, '-m', 'immediate', '-w', 'stop'];
  const leash = startLeash({
    // The server first: it would go on writing into removed files.
    script: 'cat >/dev/null; "$1" -D "$2/data" -m immediate -w stop >/dev/null 2>&1; rm -rf -- "$2"',
    args: [join(folder, 'pg_ctl'), home],
    ...asOwner,
  });

  async function start(): Promise<void> {
    const args = ['-D', data, '-l', join(home, 'log'), '-t', START_LIMIT_SECONDS, '-s', '-w', 'start'];
    if (taskset === null) await run('pg_ctl', args);
    else await runTool(taskset, ['-c', `${options.cpu}`, join(folder, 'pg_ctl'), ...args], asOwner);
  }

  try {
    const cluster = ['--locale=C', '--encoding=UTF8', '--auth=trust', `--username=${SUPERUSER}`];
    await run('initdb', ['-D', data, ...cluster, '--no-sync', '--no-instructions']);
    await appendFile(join(data, 'postgresql.conf'), configuration(home, options));
    await start();
  } catch (error) {
    const log = await readFile(join(home, 'log'), 'utf8').catch(() => '');
    await leash.release();
    throw new Error(`PostgreSQL did not start: ${log}`, { cause: error });
  }

  let databases = 0;
  const url = (databaseName: string) =>
    `postgres://${SUPERUSER}@localhost/${encodeURIComponent(databaseName)}?host=${encodeURIComponent(home)}`;
  return {
    url,
    createDatabase: async (template) => {
      const name = `test_${++databases}`;
      const copy = template === undefined ? [] : ['--template', databaseOf(template)];
      await run('createdb', ['--host', home, '--username', SUPERUSER, ...copy, name]);
      return url(name);
    },
    crash: async () => {
      await run('pg_ctl', stopAtOnce);
      await start();
    },
    stop: () => leash.release(),
  };
}

/** Never under TMPDIR: a socket's path has at most 107 bytes, and the server's user must get through to it. */
function ownedFolder(owner: Owner | undefined, parent: string): string {
  const home = mkdtempSync(join(realpathSync(parent), 'tidegate-pg-'));
  chmodSync(home, 0o700);
  if (owner) chownSync(home, owner.uid, owner.gid);
  return home;
}

const MEMORY = '/dev/shm';
/** A few hundred databases of tests at a time. */
const MEMORY_NEEDED = 4 * 1024 ** 3;

function roomyFolder(): string {
  if (!existsSync(MEMORY)) return '/tmp';
  const memory = statfsSync(MEMORY);
  return memory.bavail * memory.bsize >= MEMORY_NEEDED ? MEMORY : '/tmp';
}

function configuration(home: string, options: PostgresOptions): string {
  const careless = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };
  const settings = {
    listen_addresses: '',
    unix_socket_directories: home,
    timezone: 'UTC',
    ...(options.fsync ? {} : careless),
    ...options.settings,
  };
  return Object.entries(settings)
    .map(([name, value]) => `\n${name} = '${String(value).replaceAll("'", "''")}'`)
    .join('');
}

function databaseOf(nameOrUrl: string): string {
  return URL.canParse(nameOrUrl) ? decodeURIComponent(new URL(nameOrUrl).pathname.slice(1)) : nameOrUrl;
}
