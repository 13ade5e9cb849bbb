import { chmodSync, existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { untilRefused } from '@tidegate/testkit/free-port';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type ChecksWorld, createChecksWorld } from '../testing/checks-world.ts';
import type { ProbeFile } from './probe-file.ts';
import { runProbe } from './run-probe.ts';
import { createUnits } from './units.ts';

let world: ChecksWorld;
beforeEach(() => {
  world = createChecksWorld();
});
afterEach(() => world[Symbol.dispose]());

/** Far more than a probe takes that ends by itself. */
const LIMIT_SECONDS = 60;

function run(probe: object, before: readonly string[] | null = null, systemctl = '/nowhere/systemctl') {
  const file: ProbeFile = { v: 1, timeout_seconds: LIMIT_SECONDS, ...Object(probe) };
  return runProbe(file, { place: world.policy, units: createUnits({ systemctl, before }) });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

describe('tcp', () => {
  test('is green when something listens', async () => {
    const port = await listen(createTcpServer((socket) => socket.end()));
    expect(await run({ kind: 'tcp', port })).toEqual({ state: 'green' });
  });

  test('is red when nothing does', async () => {
    const server = createTcpServer();
    const port = await listen(server);
    server.close();
    await untilRefused({ port, host: '127.0.0.1' });
    expect(await run({ kind: 'tcp', port })).toEqual({ state: 'red', detail: 'ECONNREFUSED' });
  });
});

describe('http', () => {
  async function site(answer: RequestListener) {
    const server = createServer(answer);
    onTestFinished(() => server.closeAllConnections());
    return `http://127.0.0.1:${await listen(server)}/health`;
  }
  const says =
    (status: number, body = '', headers = {}): RequestListener =>
    (_, response) =>
      response.writeHead(status, headers).end(body);

  test.each<[string, RequestListener, object, string]>([
    ['a good answer', says(200, 'ok'), {}, 'green'],
    ['an error', says(503), {}, 'red answered 503'],
    [
      'a redirect is not followed',
      says(302, '', { location: 'http://127.0.0.1:9/' }),
      {},
      'red answered 302',
    ],
    ['a status that is named', says(401), { status: [401] }, 'green'],
    ['a good one that is not', says(200), { status: [204] }, 'red answered 200'],
    ['the text that is looked for', says(200, 'all is well'), { body_contains: 'is well' }, 'green'],
    [
      'another text',
      says(200, 'bad'),
      { body_contains: 'is well' },
      'red answered 200 without the text that is looked for',
    ],
    [
      'a text beyond what is read',
      says(200, `${'x'.repeat(70_000)}is well`),
      { body_contains: 'is well' },
      'red answered 200 without the text that is looked for',
    ],
    ['no answer', () => {}, { timeout_seconds: 1 }, 'red no whole answer within 1 s'],
    [
      'an answer that never ends',
      (_, response) => {
        response.writeHead(200).write('x');
        const more = setInterval(() => response.write('x'), 50);
        response.once('close', () => clearInterval(more));
      },
      { body_contains: 'is well', timeout_seconds: 1 },
      'red no whole answer within 1 s',
    ],
    ['a connection that is cut', (request) => request.socket.destroy(), {}, 'red ECONNRESET'],
  ])('%s', async (_, answer, members, expected) => {
    const { state, detail } = await run({ kind: 'http', url: await site(answer), ...members });
    expect([state, ...(detail === undefined ? [] : [detail])].join(' ')).toBe(expected);
  });
});

describe('program', () => {
  const program = (text: string, members = {}) =>
    run({ kind: 'program', program: world.script('check', text), ...members });

  test.each([
    ['ends well', 'exit 0', { state: 'green' }],
    [
      'fails',
      'echo one; echo "queue is full" >&2; exit 3',
      { state: 'red', detail: 'exit status 3: queue is full' },
    ],
    ['prints megabytes', 'head -c 8000000 /dev/zero; exit 0', { state: 'green' }],
  ])('one that %s', async (_, text, expected) => {
    expect(await program(text)).toEqual(expected);
  });

  test('one that hangs', async () => {
    const expected = { state: 'red', detail: 'not done within 1 s' };
    expect(await program('sleep 60', { timeout_seconds: 1 })).toEqual(expected);
  });

  test('what one leaves running is killed when it ends', async () => {
    const pidFile = join(world.folder, 'pid');
    expect(await program(`sleep 60 & echo $! > ${pidFile}`)).toEqual({ state: 'green' });
    const pid = readFileSync(pidFile, 'utf8').trim();
    // Nobody may have collected it yet.
    const stateOf = () =>
      existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] : 'Z';
    await expect.poll(stateOf).toBe('Z');
  });

  test('gets a clean environment, and its arguments as they are', async () => {
    process.env.TIDEGATE_SECRET = 'x';
    onTestFinished(() => void delete process.env.TIDEGATE_SECRET);
    const path = world.script('check', '[ "$1" = "a; b" ] && [ -z "$TIDEGATE_SECRET" ]');
    expect(await run({ kind: 'program', program: path, args: ['a; b'] })).toEqual({ state: 'green' });
  });

  test.each<[string, (path: string) => void]>([
    [
      'a link',
      (path) => {
        renameSync(path, `${path}.real`);
        symlinkSync(`${path}.real`, path);
      },
    ],
    ['writable by others', (path) => chmodSync(path, 0o757)],
    ['in a folder that is writable by others', () => chmodSync(join(world.folder, 'programs'), 0o777)],
    ['not executable', (path) => chmodSync(path, 0o644)],
    ['gone', (path) => renameSync(path, `${path}.old`)],
  ])('one that is %s does not run: unknown, not green', async (_, spoil) => {
    const mark = join(world.folder, 'mark');
    const path = world.script('check', `touch ${mark}`);
    spoil(path);
    expect((await run({ kind: 'program', program: path })).state).toBe('unknown');
    expect(existsSync(mark)).toBe(false);
  });
});

describe('units', () => {
  /** Stands in for systemd: it knows one unit in this state, and these that have failed. */
  const systemctl = (active: string, failed = '') => {
    const list = join(world.folder, 'failed');
    writeFileSync(list, failed);
    return world.script(
      'systemctl',
      `if [ "$1" = show ]; then
  if [ "$4" = web.service ]; then echo LoadState=loaded; echo ActiveState=${active}
  else echo LoadState=not-found; echo ActiveState=inactive; fi
else cat ${list}; fi`,
    );
  };

  test.each([
    ['active', 'web.service', { state: 'green' }],
    ['reloading', 'web.service', { state: 'green' }],
    ['failed', 'web.service', { state: 'red', detail: 'web.service is failed' }],
    ['activating', 'web.service', { state: 'red', detail: 'web.service is activating' }],
    ['active', 'absent.service', { state: 'red', detail: 'there is no unit absent.service' }],
  ])('%s: %s', async (active, unit, expected) => {
    expect(await run({ kind: 'unit', unit }, null, systemctl(active))).toEqual(expected);
  });

  test.each<[string, readonly string[] | null, string, object]>([
    [
      'before the first installation nothing can have failed since',
      null,
      'old.service loaded failed failed Old\n',
      { state: 'green' },
    ],
    [
      'one that had failed before counts for nothing',
      ['old.service'],
      'old.service loaded failed failed Old\n',
      { state: 'green' },
    ],
    [
      'one that failed since is named',
      ['old.service'],
      'old.service loaded failed failed Old\nnew.service loaded failed failed New\n',
      { state: 'red', detail: 'failed since the last installation: new.service' },
    ],
    [
      'a list that is not one is unknown',
      [],
      '\u0007bell\n',
      { state: 'unknown', detail: expect.any(String) },
    ],
  ])('%s', async (_, before, failed, expected) => {
    expect(await run({ kind: 'failed_units' }, before, systemctl('active', failed))).toEqual(expected);
  });

  test('without systemd they are unknown', async () => {
    for (const probe of [{ kind: 'unit', unit: 'web.service' }, { kind: 'failed_units' }]) {
      expect((await run(probe)).state).toBe('unknown');
    }
  });
});
