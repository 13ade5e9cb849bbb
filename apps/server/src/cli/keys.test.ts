import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { createClock } from '@tidegate/testkit/clock';
import { createIds } from '@tidegate/testkit/ids';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { openPostgres } from '../platform/db/postgres.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { createLog } from '../platform/log.ts';
import { startServer } from '../start.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES, SAMPLED_ENGINES, type TestEngine } from '../testing/engines.ts';
import { NO_REGISTRIES_ENV } from '../testing/no-registries.ts';
import { runCommand } from './run-command.ts';

/** A data directory that a server has used, and the command line on it. */
async function place(engine: TestEngine) {
  const { dataDir, databaseUrl } = await engine.place();
  const env = {
    SERVICE_DATA_DIR: dataDir,
    SERVICE_PORT: '0',
    SERVICE_HOST: '127.0.0.1',
    SERVICE_ADVISORY_SOURCE: 'off',
    ...NO_REGISTRIES_ENV,
    USER: 'olga',
    ...(databaseUrl === null ? {} : { SERVICE_DATABASE_URL: databaseUrl }),
  };
  const clock = createClock(Date.UTC(2026, 10, 21, 9));
  const ids = createIds(clock, 'keys');
  const random = (n: number) => Buffer.from(ids.bytes(n));
  const printed: string[] = [];

  async function start(more: Record<string, string> = {}) {
    const read = readConfig({ ...env, ...more });
    if (!read.ok) throw new Error(read.fault);
    const log = createLog({ level: 'error', format: 'text', now: clock.now, write: () => {} });
    return startServer(read.config, { log, now: clock.now, random });
  }

  async function keys(args: string, { stdin = '', more = {} }: { stdin?: string; more?: object } = {}) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runCommand(['keys', ...args.split(' ')], {
      env: { ...env, ...more },
      now: clock.now,
      random,
      out: (text) => out.push(text),
      err: (text) => err.push(text),
      isTerminal: false,
      stdin: Readable.from([stdin]),
    });
    printed.push(...out, ...err);
    return { code, out: out.join('\n'), err: err.join('\n') };
  }

  async function json(args: string) {
    const run = await keys(`${args} --json`);
    if (run.code !== 0) throw new Error(run.err);
    return JSON.parse(run.out);
  }

  const first = await start();
  if (!first.ok) throw new Error(first.fault);
  await first.stop();
  const open = () =>
    databaseUrl === null
      ? openSqlite(join(dataDir, 'tidegate.db'), databaseOptions())
      : openPostgres(databaseUrl, databaseOptions());

  /** Agents that hold these key sets; their ids. */
  async function agents(versions: readonly number[]): Promise<string[]> {
    const database = open();
    const made: string[] = [];
    for (const [n, key_set_version] of versions.entries()) {
      const { agentId } = await insertTestAgent(database, { n });
      await database.transact((tx) =>
        tx.updateTable('agents').set({ key_set_version }).where('id', '=', agentId).execute(),
      );
      made.push(agentId);
    }
    await database.close();
    return made;
  }

  /** Deletes the link from the first key set to the next. */
  async function breakChain(): Promise<void> {
    const database = open();
    await database.transact((tx) => tx.deleteFrom('key_sets').where('version', '=', 1).execute());
    await database.close();
  }

  return {
    clock,
    dataDir,
    start,
    keys,
    json,
    agents,
    breakChain,
    printed,
    file: (name: string) => join(dataDir, name),
  };
}

const statusOf = (listed: { keys: { version: number; status: string; in_use: boolean }[] }) =>
  listed.keys.map(({ version, status, in_use }) => [version, in_use ? 'in use' : status]);

const versionOf = ({ version }: { version: number }) => version;

function dropPrivateHalves(dataDir: string): void {
  for (const name of readdirSync(join(dataDir, 'keys'))) rmSync(join(dataDir, 'keys', name));
}

describe.each(SAMPLED_ENGINES)('tidegate keys on $name', (engine) => {
  test('a rotation is add, use, revoke, and the next server start accepts it (R4)', async () => {
    const { keys, json, start } = await place(engine);
    expect((await keys('add')).out).toMatch(
      /^Signing key version 2 added: [0-9a-f]{64}\nIt signs once you run: tidegate keys use 2$/,
    );
    expect(await keys('use 2')).toMatchObject({
      code: 0,
      out: 'Signing key version 2 is in use.\nAll 0 agents know the key in use.',
    });
    expect((await keys('revoke 1')).out).toContain('Signing key version 1 is revoked.');
    expect(statusOf(await json('list'))).toEqual([
      [2, 'in use'],
      [1, 'revoked'],
    ]);
    const server = await start();
    if (!server.ok) throw new Error(server.fault);
    const answer = await server.application.http.inject({ url: '/api/v1/public-keys?since=0' });
    expect(answer.json().keys.map(({ version }: { version: number }) => version)).toEqual([2]);
    expect(answer.json().key_sets).toHaveLength(4);
    await server.stop();
  });

  test.each([
    ['use 9', /no signing key version 9; there are: 1$/],
    ['revoke 1', /in use: switch to another one first/],
    ['pending --out p.json', /there is no offline root/],
    ['reset --every-host-is-enrolled-again', /no host is lost/],
    ['root install absent.json', /cannot be read \(ENOENT\)/],
    [
      'add --public-key 0000000000000000000000000000000000000000000000000000000000000000',
      /cannot be used \(weak\)/,
    ],
    ['add --private-key absent.key', /cannot be read/],
  ])('%s is refused in one line, exit 1', async (args, message) => {
    const { keys } = await place(engine);
    const run = await keys(args);
    expect([run.code, run.out]).toEqual([1, '']);
    expect(run.err).toMatch(message);
    expect(run.err).not.toContain('\n');
  });

  test('use and revoke count the agents behind, and revoke refuses to strand hosts that no chain can update', async () => {
    const { keys, json, agents, breakChain } = await place(engine);
    const [asleep, awake] = await agents([1, 2]);
    await keys('add');
    const used = await json('use 2');
    expect(used).toMatchObject({ version: 2, in_use: true, agents: 2, behind: 1, behind_ids: [asleep] });
    expect(awake).not.toBe(asleep);
    await breakChain();
    const refused = await keys('revoke 1');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(
      /^1 agent holds a key set without the key in use, and no stored key set continues from it/,
    );
    expect(JSON.parse((await keys('revoke 1 --json')).out)).toMatchObject({
      stranded: { count: 1, ids: [asleep] },
    });
    expect((await keys('revoke 1 --force')).out).toBe(
      'Signing key version 1 is revoked.\n1 of 2 agents have not fetched the key in use yet; 1 of them must be enrolled again.',
    );
  });

  test('after the private half in use is lost, another one here takes over', async () => {
    const { keys, json, start, dataDir } = await place(engine);
    const [first] = (await json('list')).keys;
    await keys('add');
    rmSync(join(dataDir, 'keys', `${first.key_id}.key`));
    const refused = await start();
    expect(refused).toMatchObject({ ok: false, fault: expect.stringContaining('is missing') });
    expect((await keys('use 2')).code).toBe(0);
    expect((await keys('revoke 1')).code).toBe(0);
    const server = await start();
    if (!server.ok) throw new Error(server.fault);
    await server.stop();
  });

  test('with every private half lost and no root, only a reset works, and it asks to accept the cost', async () => {
    const { keys, json, start, dataDir } = await place(engine);
    dropPrivateHalves(dataDir);
    expect((await keys('add')).err).toContain('nothing can sign a change');
    expect((await keys('reset')).code).toBe(2);
    expect((await keys('reset --every-host-is-enrolled-again')).out).toBe(
      'Signing key version 2 is in use, and all others are revoked.',
    );
    expect(statusOf(await json('list'))).toEqual([
      [2, 'in use'],
      [1, 'revoked'],
    ]);
    const server = await start();
    if (!server.ok) throw new Error(server.fault);
    await server.stop();
  });
});

const [sqlite] = ENGINES;

async function rooted() {
  if (!sqlite) throw new Error('SQLite is always there');
  const here = await place(sqlite);
  const { keys, file } = here;
  const publicKeys: string[] = [];
  for (const name of ['a', 'b', 'c']) publicKeys.push((await keys(`root make --out ${file(name)}`)).out);
  const named = publicKeys.map((key) => `--key ${key}`).join(' ');
  const made = await keys(`root init --threshold 2 ${named} --out ${file('root.json')}`);
  if (made.code !== 0) throw new Error(made.err);
  const sign = (document: string, ...names: string[]) =>
    names.reduce<Promise<unknown>>(
      (before, name) => before.then(() => keys(`root sign ${file(document)} --key ${file(name)}`)),
      Promise.resolve(),
    );
  const install = (document: string) => keys(`root install ${file(document)}`);
  return { ...here, publicKeys, sign, install };
}

describe('the offline root', () => {
  test('is made, signed by a threshold of its keys and installed; then a new key needs it', async () => {
    const { keys, json, sign, install, file, start, clock } = await rooted();
    expect(statSync(file('a')).mode & 0o777).toBe(0o600);
    await sign('root.json', 'a');
    expect((await install('root.json')).err).toBe('1 keys of the new root have signed; 2 are needed');
    await sign('root.json', 'a');
    expect((await install('root.json')).err).toBe('1 keys of the new root have signed; 2 are needed');
    await sign('root.json', 'b');
    expect((await install('root.json')).out).toContain('Root 1 is in force');
    expect((await install('root.json')).err).toContain('the next root is version 2');

    expect((await keys('add')).out).toContain('No agent trusts it yet');
    expect((await keys('use 2')).err).toContain('waits for the root');
    // The server holds the private half, but introduces the key neither at its start nor at a renewal of the set.
    const server = await start();
    if (!server.ok) throw new Error(server.fault);
    clock.advance(80 * 86_400_000);
    const answer = (await server.application.http.inject({ url: '/api/v1/public-keys?since=2' })).json();
    expect([answer.keys.map(versionOf), answer.key_sets.length, answer.roots.length]).toEqual([[1], 1, 1]);
    await server.stop();
    expect((await keys(`pending --out ${file('set.json')}`)).out).toContain('2 root keys have to sign it');
    await sign('set.json', 'a');
    expect((await install('set.json')).err).toBe('1 keys of the root have signed; 2 are needed');
    await sign('set.json', 'c');
    expect((await install('set.json')).out).toBe('Key set 4 is in force. It adds signing key version 2.');
    expect((await keys('use 2')).code).toBe(0);
    expect(statusOf(await json('list'))).toEqual([
      [2, 'in use'],
      [1, 'active'],
    ]);
  });

  test('a key set is installed only while it is still the pending one', async () => {
    const { keys, sign, install, file } = await rooted();
    await sign('root.json', 'a', 'b');
    await install('root.json');
    await keys('add');
    await keys(`pending --out ${file('set.json')}`);
    await sign('set.json', 'a', 'b');
    await keys('add');
    await keys('revoke 3');
    expect((await install('set.json')).err).toContain('the keys have changed since');
  });

  test('is replaced by a threshold of the old and of the new root', async () => {
    const { keys, sign, install, file, publicKeys } = await rooted();
    await sign('root.json', 'a', 'b');
    await install('root.json');
    const fourth = (await keys(`root make --out ${file('d')}`)).out;
    const next = `root init --threshold 2 --key ${publicKeys[2]} --key ${fourth} --out ${file('next.json')}`;
    expect((await keys(next)).out).toContain('a threshold of root 1 and of its own');
    await sign('next.json', 'c', 'd');
    expect((await install('next.json')).err).toBe('1 keys of the root in force have signed; 2 are needed');
    await sign('next.json', 'a');
    expect((await install('next.json')).out).toContain('Root 2 is in force');
  });

  test('with every private half of the server lost, the root alone introduces a new key', async () => {
    const { keys, json, sign, install, file, dataDir, start } = await rooted();
    await sign('root.json', 'a', 'b');
    await install('root.json');
    dropPrivateHalves(dataDir);
    expect((await keys('reset --every-host-is-enrolled-again')).err).toContain('no host is lost');
    expect((await keys('add')).code).toBe(0);
    expect((await keys(`pending --out ${file('set.json')}`)).code).toBe(0);
    await sign('set.json', 'b', 'c');
    expect((await install('set.json')).code).toBe(0);
    const added = (await json('list')).keys[0].version;
    expect((await keys(`use ${added}`)).code).toBe(0);
    expect((await keys('revoke 1')).code).toBe(0);
    const server = await start();
    if (!server.ok) throw new Error(server.fault);
    await server.stop();
  });

  test('a private key is read from a file or the standard input, and never printed', async () => {
    const { keys, file, printed, sign } = await rooted();
    const secrets = ['a', 'b', 'c'].map((name) => readFileSync(file(name), 'utf8').trim());
    const [first = ''] = secrets;
    expect((await keys(`root sign ${file('root.json')} --key -`, { stdin: `${first}\n` })).code).toBe(0);
    const damaged = first.slice(0, 64) + (secrets[1] ?? '').slice(64);
    writeFileSync(file('damaged'), damaged);
    expect((await keys(`root sign ${file('root.json')} --key ${file('damaged')}`)).err).toBe(
      'the root key cannot be used (mismatch)',
    );
    const own = generatePrivateKeyHex(Buffer.alloc(32, 5));
    expect((await keys('add --private-key - --json', { stdin: own })).code).toBe(0);
    await sign('root.json', 'b', 'c');
    await keys('list --json');
    for (const secret of [...secrets, own, damaged]) {
      expect(printed.filter((text) => text.includes(secret.slice(0, 64)))).toEqual([]);
    }
  });

  test('an existing file is never overwritten', async () => {
    const { keys, file } = await rooted();
    const before = readFileSync(file('a'), 'utf8');
    expect((await keys(`root make --out ${file('a')}`)).err).toContain('EEXIST');
    expect((await keys(`pending --out ${file('a')}`)).code).toBe(1);
    expect(readFileSync(file('a'), 'utf8')).toBe(before);
  });
});

test.each([
  ['keys', /needs one of: list, add, use, revoke, pending, reset, root/],
  ['keys root', /needs one of: make, init, sign, install/],
  ['keys use', /give one version/],
  ['keys use two', /give one version/],
  ['keys list more', /unknown words: more/],
  ['keys root make', /--out FILE is needed/],
  ['keys root sign a.json', /--key FILE is needed/],
  ['keys reset', /every-host-is-enrolled-again/],
])('%s is wrong usage, exit 2', async (line, message) => {
  const err: string[] = [];
  const code = await runCommand(line.split(' '), {
    env: {},
    now: () => 0,
    random: () => Buffer.alloc(32),
    out: () => {},
    err: (text) => err.push(text),
    isTerminal: false,
    stdin: Readable.from([]),
  });
  expect(code).toBe(2);
  expect(err.join('\n')).toMatch(message);
});
