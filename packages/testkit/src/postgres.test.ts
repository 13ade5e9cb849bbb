import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { type Postgres, startPostgres } from './postgres.ts';
import { findPrograms } from './postgres-programs.ts';
import { tmpDir } from './tmp.ts';

test('a machine without PostgreSQL on PATH has Debian’s own, or is told what is missing', async () => {
  using empty = tmpDir();
  const found = await findPrograms(empty.path);
  if ('missing' in found) expect(found.missing).toContain('PostgreSQL 15');
  else expect(found.folder).toMatch(/^\/usr\/lib\/postgresql\//);
});

const server = await startPostgres();

describe.skipIf('missing' in server)(`a server${'missing' in server ? ` (${server.missing})` : ''}`, () => {
  afterAll(() => present(server).stop());

  test('gives each database an address of its own that pg and libpq understand', async () => {
    const first = await present(server).createDatabase();
    const second = await present(server).createDatabase();
    await query(first, 'create table hosts (name text)');
    expect(await query(first, 'select count(*)::int as n from hosts')).toEqual([{ n: 0 }]);
    await expect(query(second, 'select * from hosts')).rejects.toThrow(/does not exist/);
  });

  test('copies a database from a template, given by its address', async () => {
    const template = await present(server).createDatabase();
    await query(template, "create table hosts as select 'a' as name");
    const copy = await present(server).createDatabase(template);
    expect(await query(copy, 'select name from hosts')).toEqual([{ name: 'a' }]);
  });

  test('listens on no network address, orders text by bytes and counts time in UTC', async () => {
    const url = await present(server).createDatabase();
    expect(await setting(url, 'listen_addresses')).toBe('');
    expect(await setting(url, 'TimeZone')).toBe('UTC');
    expect(await setting(url, 'fsync')).toBe('off');
    expect(await query(url, "select 'B' < 'a' as bytes")).toEqual([{ bytes: true }]);
  });
});

// Each starts a server of its own, which takes its time on a busy machine.
describe.skipIf('missing' in server)('a durable server', () => {
  test('keeps what was committed over a crash, on the core that it was given', async () => {
    const durable = present(await startPostgres({ fsync: true, cpu: 0, settings: { max_connections: 7 } }));
    try {
      const url = await durable.createDatabase();
      expect(await setting(url, 'fsync')).toBe('on');
      expect(await setting(url, 'synchronous_commit')).toBe('on');
      expect(await setting(url, 'max_connections')).toBe('7');
      const [row] = await query(url, 'select pg_backend_pid() as pid, pg_sleep(0)');
      expect(row?.pid).toBeTypeOf('number');
      await query(url, 'create table kept as select 1 as n');
      await durable.crash();
      expect(await query(url, 'select n from kept')).toEqual([{ n: 1 }]);
      const postmaster = readFileSync(join(socketFolder(url), 'data', 'postmaster.pid'), 'utf8').split(
        '\n',
      )[0];
      expect(readFileSync(`/proc/${postmaster}/status`, 'utf8')).toMatch(/^Cpus_allowed_list:\s+0$/m);
    } finally {
      await durable.stop();
    }
  });

  test('is gone with its files when the process that started it is killed', async () => {
    const module = fileURLToPath(new URL('./postgres.ts', import.meta.url));
    const code = `const { startPostgres } = await import(${JSON.stringify(module)});
      const url = (await startPostgres()).url('x');
      process.stdout.write(url, () => process.kill(process.pid, 'SIGKILL'));
      setInterval(() => {}, 1e6);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [url, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect(url, errors).toContain('tidegate-pg-');
    expect(existsSync(socketFolder(url))).toBe(false);
    await expect(query(url, 'select 1')).rejects.toThrow(/ENOENT/);
  });

  test('that cannot start says why', async () => {
    await expect(startPostgres({ settings: { max_connections: 'many' } })).rejects.toThrow(
      /"max_connections": "many"/,
    );
  });
});

function present(found: Awaited<ReturnType<typeof startPostgres>>): Postgres {
  if ('missing' in found) throw new Error(found.missing);
  return found;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function setting(url: string, name: string): Promise<unknown> {
  return (await query(url, `select current_setting('${name}') as value`))[0]?.value;
}

function socketFolder(url: string): string {
  return new URL(url).searchParams.get('host') ?? '';
}
