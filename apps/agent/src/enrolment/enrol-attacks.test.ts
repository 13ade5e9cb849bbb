import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CommandPayload } from '@tidegate/protocol/documents';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { firstOf } from '@tidegate/testkit/lanes';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { afterEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../identity/config-file.ts';
import { openJournal } from '../journal/journal.ts';
import { bytesOf, createFleet } from '../testing/fleet.ts';
import { startFleetServer } from '../testing/fleet-server.ts';
import { verifyCommand } from '../trust/verify-command.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
/** The agent's user in these tests. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const AGENT_FILES = ['config.json', 'journal.json', 'agent.lock'];
const missing = process.geteuid?.() === 0 ? null : 'needs root, which enrols for another user';
if (missing !== null) console.log(`skipped: enrolment for a user who is hostile: ${missing}`);

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function createHost() {
  const fleet = createFleet(Date.now());
  const server = await startFleetServer(fleet);
  const dir = tmpDir();
  stops.push(server.stop, dir.remove);
  chmodSync(dir.path, 0o755);
  const at = (name: string) => join(dir.path, name);
  writeFileSync(at('machine-id'), fleet.machineId);
  const secret = at('secret');
  writeFileSync(secret, 'of root', { mode: 0o600 });

  async function enrol(args: readonly string[] = ['--user', 'nobody', '--replace'], config = at('agent')) {
    const places = ['--executor-state', at('executor'), '--spool', at('spool'), '--ecosystems', 'apt'];
    const machine = ['--machine-id-source', `file:${at('machine-id')}`];
    const child = spawn(
      process.execPath,
      [
        '--no-warnings',
        main,
        'enrol',
        '--server',
        server.url,
        '--config',
        config,
        ...places,
        ...machine,
        ...args,
      ],
      {
        env: { PATH: process.env.PATH ?? '', TIDEGATE_TOKEN: 'tgr_secret', ...compiledModules() },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk));
    const [exit] = await once(child, 'close');
    return { exit, said };
  }

  /** Files that must stay root's, whatever the agent's user has planted. */
  const expectUntouched = (path = secret, text = 'of root') => {
    const { uid, gid, mode } = lstatSync(path);
    expect([uid, gid, mode & 0o777]).toEqual([0, 0, 0o600]);
    expect(readFileSync(path, 'utf8')).toBe(text);
  };
  return { fleet, server, dir: dir.path, at, folder: at('agent'), secret, enrol, expectUntouched };
}

async function createEnrolled() {
  const host = await createHost();
  expect(await host.enrol(['--user', 'nobody'])).toMatchObject({ exit: 0 });
  return host;
}

describe.skipIf(missing !== null)('enrol --user, run by root where the agent’s user is hostile', () => {
  test.each(AGENT_FILES)('%s as a link to a file of root’s: it stays root’s', async (name) => {
    const { folder, secret, enrol, expectUntouched } = await createEnrolled();
    rmSync(join(folder, name), { force: true });
    symlinkSync(secret, join(folder, name));
    await enrol();
    expectUntouched();
  });

  test.each(firstOf(1, AGENT_FILES))(
    '%s as a hard link to a file of root’s: it stays root’s',
    async (name) => {
      const { folder, secret, enrol, expectUntouched } = await createEnrolled();
      rmSync(join(folder, name), { force: true });
      linkSync(secret, join(folder, name));
      await enrol();
      expectUntouched();
    },
  );

  test('a hard link whose other names are gone stays root’s: an old file of root’s is not given away', async () => {
    const { folder, at, secret, enrol, expectUntouched } = await createEnrolled();
    const journal = join(folder, 'journal.json');
    rmSync(journal, { force: true });
    linkSync(secret, journal);
    linkSync(secret, at('witness'));
    rmSync(secret);
    await enrol();
    expectUntouched(at('witness'));
  });

  test.each(firstOf(1, AGENT_FILES))('%s as a FIFO: nothing blocks', async (name) => {
    const { folder, enrol } = await createEnrolled();
    rmSync(join(folder, name), { force: true });
    execFileSync('mkfifo', [join(folder, name)]);
    chownSync(join(folder, name), NOBODY.uid, NOBODY.gid);
    const { exit } = await enrol();
    expect(exit).toBe(0);
    expect(lstatSync(join(folder, name), { throwIfNoEntry: false })?.isFIFO() ?? false).toBe(false);
  });

  test('a journal of a terabyte is not read', async () => {
    const { folder, enrol } = await createEnrolled();
    const journal = join(folder, 'journal.json');
    writeFileSync(journal, '');
    truncateSync(journal, 1024 ** 4);
    chownSync(journal, NOBODY.uid, NOBODY.gid);
    expect(await enrol()).toMatchObject({ exit: 0 });
    expect(lstatSync(journal, { throwIfNoEntry: false })?.size ?? 0).toBeLessThan(1024 ** 2);
  });

  test('a folder in the place of a file is refused by its name, before the token is spent', async () => {
    const { folder, server, enrol } = await createEnrolled();
    mkdirSync(join(folder, 'journal.json', 'deep'), { recursive: true });
    const before = server.received('agents/register').length;
    expect(await enrol()).toMatchObject({
      exit: 2,
      said: expect.stringContaining('journal.json is a folder'),
    });
    expect(server.received('agents/register')).toHaveLength(before);
    expect(lstatSync(folder).uid).toBe(NOBODY.uid); // it is still given back
  });

  test('the folder as a link into a folder of root’s: that one stays root’s', async () => {
    const { at, enrol } = await createHost();
    mkdirSync(at('of-user'));
    chownSync(at('of-user'), NOBODY.uid, NOBODY.gid);
    mkdirSync(at('of-root'), { mode: 0o700 });
    writeFileSync(at('of-root/config.json'), 'of root', { mode: 0o600 });
    symlinkSync(at('of-root'), at('of-user/agent'));
    const config = at('of-user/agent');
    expect(await enrol(undefined, config)).toMatchObject({
      exit: 2,
      said: expect.stringContaining('of-user belongs to user 65534'),
    });
    expect(lstatSync(at('of-root')).uid).toBe(0);
    expect(lstatSync(at('of-root/config.json')).uid).toBe(0);
  });

  test('a folder that others could replace is refused by name', async () => {
    const { at, enrol, server } = await createHost();
    mkdirSync(at('open'));
    chmodSync(at('open'), 0o777);
    expect(await enrol(undefined, at('open/agent'))).toMatchObject({
      exit: 2,
      said: expect.stringContaining(`${at('open')} can be written by others than root`),
    });
    chmodSync(at('open'), 0o1777); // like /tmp: the owner of the folder may rename it
    expect(await enrol(undefined, at('open/agent'))).toMatchObject({ exit: 2 });
    expect(server.received('agents/register')).toEqual([]);
    expect(existsSync(at('open/agent'))).toBe(false);
  });

  test.each(['--spool', '--executor-state'])(
    '%s below a folder of the agent’s is refused',
    async (option) => {
      const { folder, enrol, at } = await createEnrolled();
      symlinkSync(at('.'), join(folder, 'elsewhere'));
      const { exit, said } = await enrol([
        '--user',
        'nobody',
        '--replace',
        option,
        join(folder, 'elsewhere', 'x'),
      ]);
      expect([exit, said]).toEqual([2, expect.stringContaining('belongs to user 65534')]);
      expect(existsSync(at('x'))).toBe(false);
    },
  );

  test('a process that plants links while root enrols gets nothing of root’s', async () => {
    const { folder, secret, enrol, expectUntouched } = await createEnrolled();
    const plant = `const { symlinkSync } = require('node:fs');
      for (;;) try { symlinkSync('${secret}', '${folder}/journal.json'); } catch {}`;
    const planter = spawn(process.execPath, ['-e', plant], { ...NOBODY, stdio: 'ignore' });
    const ended = once(planter, 'exit');
    try {
      for (let round = 0; round < 5; round += 1) {
        const { said } = await enrol();
        expect(said).not.toMatch(/^\s+at /m); // no stack of an unexpected error
        expectUntouched();
      }
    } finally {
      planter.kill('SIGKILL');
      await ended;
    }
  });
});

describe.skipIf(missing !== null)('what enrol --user leaves', () => {
  test('belongs to the agent’s user alone: the folder, each file, the spool', async () => {
    const { folder, at } = await createEnrolled();
    const paths = [folder, at('spool'), ...readdirSync(folder).map((name) => join(folder, name))];
    for (const path of paths) expect([path, lstatSync(path).uid]).toEqual([path, NOBODY.uid]);
    expect(lstatSync(folder).mode & 0o777).toBe(0o700);
    expect(lstatSync(join(folder, 'config.json')).mode & 0o777).toBe(0o600);
    const read = promisify(execFile)('setpriv', [
      '--reuid=65534',
      '--regid=65534',
      '--clear-groups',
      'cat',
      join(folder, 'config.json'),
    ]);
    expect((await read).stdout).toContain('agent_id');
    expect(lstatSync(at('executor')).uid).toBe(0);
  });

  test('a machine without an id is refused before the token is used', async () => {
    const { server, enrol, at } = await createHost();
    const { exit, said } = await enrol(['--machine-id-source', `file:${at('nothing')}`]);
    expect([exit, said]).toEqual([2, expect.stringContaining('nothing')]);
    expect(server.received('agents/register')).toEqual([]);
  });

  test('a folder of the agent’s user is not enrolled for root by leaving --user out', async () => {
    const { folder, enrol, server } = await createEnrolled();
    const before = server.received('agents/register').length;
    expect(await enrol(['--replace'])).toMatchObject({
      exit: 2,
      said: expect.stringContaining('add --user'),
    });
    expect(server.received('agents/register')).toHaveLength(before);
    expect(lstatSync(join(folder, 'config.json')).uid).toBe(NOBODY.uid);
  });

  test('an agent run by root is handed over with all its files', async () => {
    const { folder, enrol } = await createHost();
    expect(await enrol([])).toMatchObject({ exit: 0 });
    expect(lstatSync(folder).uid).toBe(0);
    expect(await enrol()).toMatchObject({ exit: 0 });
    for (const name of ['', ...readdirSync(folder)])
      expect(lstatSync(join(folder, name)).uid).toBe(NOBODY.uid);
  });

  test('an unreachable server changes nothing: the folder still belongs to the agent’s user', async () => {
    const { folder, enrol, server } = await createEnrolled();
    const before = readFileSync(join(folder, 'config.json'), 'utf8');
    await server.stop();
    expect(await enrol()).toMatchObject({ exit: 1 });
    expect(readFileSync(join(folder, 'config.json'), 'utf8')).toBe(before);
    for (const name of ['', ...readdirSync(folder)])
      expect(lstatSync(join(folder, name)).uid).toBe(NOBODY.uid);
  });
});

describe.skipIf(missing !== null)('re-enrolment under --user', () => {
  /** An agent that has carried out the command with this number. */
  async function withHistory(seq: number) {
    const host = await createEnrolled();
    const { fleet, folder } = host;
    const envelope = fleet.command({ seq });
    const payload: unknown = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8'));
    if (!Check(CommandPayload, payload)) throw new Error('the command is none');
    expect(journalOf(folder).accept(payload, Date.now())).toEqual({ ok: true });
    chownSync(join(folder, 'journal.json'), NOBODY.uid, NOBODY.gid);
    return { ...host, envelope };
  }

  function journalOf(folder: string) {
    const opened = openJournal(folder, { nowMs: Date.now(), ownerUid: null });
    if (!opened.ok) throw new Error(opened.detail);
    return opened.journal;
  }

  test('keeps the replay journal: a command with the seq of the last is refused', async () => {
    const { fleet, folder, enrol } = await withHistory(41);
    expect(await enrol()).toMatchObject({ exit: 0 });
    const journal = journalOf(folder);
    const loaded = loadConfig(folder, null);
    if (!loaded.ok) throw new Error(loaded.detail);
    const replayed = verifyCommand(bytesOf(fleet.command({ seq: 41, command_id: randomUUID() })), {
      ...{
        trusted: loaded.config.trusted_keys,
        agentId: loaded.config.agent_id,
        strict: true,
        nowMs: Date.now(),
      },
      ...{ machineSha256: fleet.machineSha256, highest: journal.highest(), seen: journal.isKnown },
    });
    expect(replayed.ok ? 'accepted' : replayed.reason).toBe('stale_seq');
    expect(lstatSync(join(folder, 'journal.json')).uid).toBe(NOBODY.uid);
  });

  test('drops the journal of another fleet', async () => {
    const { folder, enrol } = await withHistory(41);
    const other = await startFleetServer(createFleet(Date.now()));
    stops.push(other.stop);
    expect(await enrol(['--user', 'nobody', '--replace', '--server', other.url])).toMatchObject({ exit: 0 });
    expect(journalOf(folder).highest()).toEqual({ epoch: 0, seq: 0 });
  });
});
