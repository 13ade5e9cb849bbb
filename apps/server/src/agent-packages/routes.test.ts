import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { sha256Hex } from '../platform/sha256.ts';
import { layAgents } from '../testing/agents-place.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestApp } from '../testing/test-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { VERSION } from '../version.ts';
import { DOWNLOADS_PER_ADDRESS } from './download-seats.ts';
import { openAgentFolder } from './open-folder.ts';
import { mountAgentPackages } from './routes.ts';

const [SQLITE] = ENGINES;
if (!SQLITE) throw new Error('no engine');
const engine = SQLITE;
const DEB = `tidegate-agent_${VERSION}_linux-x64.deb`;
const RPM = `tidegate-agent_${VERSION}_linux-arm64.rpm`;
const FILES = { [DEB]: 'the deb', [RPM]: 'the rpm', 'apt/dists/stable/InRelease': 'the list' };

async function built(files: Record<string, string> | null = FILES) {
  const folder = tmpDir();
  onTestFinished(folder.remove);
  const agentsDir = join(folder.path, 'agents');
  if (files) {
    mkdirSync(agentsDir);
    layAgents(agentsDir, files);
  }
  const app = await createTestApp(engine, { agentsDir });
  const get = (path: string, headers: Record<string, string> = {}) => app.http.inject({ url: path, headers });
  const list = async () => {
    const token = await app.adminToken();
    return (await get('/api/v1/admin/agent-packages', { authorization: `Bearer ${token}` })).json();
  };
  return { folder: agentsDir, get, list, path: (name: string) => join(agentsDir, name) };
}

describe('the software for agents', () => {
  test('is served to everybody with its length and its hash, and versioned files may be kept for good', async () => {
    const { get } = await built();
    const deb = await get(`/agents/${DEB}`);
    expect([deb.statusCode, deb.body]).toEqual([200, 'the deb']);
    expect(deb.headers).toMatchObject({
      ...{ 'content-length': '7', etag: `"${sha256Hex('the deb')}"` },
      ...{ 'cache-control': 'public, max-age=31536000, immutable', 'x-content-type-options': 'nosniff' },
      'content-type': 'application/octet-stream',
    });
    const known = await get(`/agents/${DEB}`, { 'if-none-match': String(deb.headers.etag) });
    expect([known.statusCode, known.body]).toEqual([304, '']);
    for (const path of ['SHA256SUMS', 'apt/dists/stable/InRelease']) {
      expect((await get(`/agents/${path}`)).headers).toMatchObject({ 'cache-control': 'no-cache' });
    }
  });

  test.each([
    ...[
      '',
      'nothing',
      'SHA256SUMS.sig',
      '../database',
      '..%2fagents.txt',
      '%2e%2e/agents.txt',
      'unnamed.deb',
    ],
    ...['apt', 'apt/', '/etc/passwd', '%00'],
  ])('is nothing but what SHA256SUMS names: not "%s"', async (path) => {
    const { folder, get } = await built();
    writeFileSync(`${folder}.txt`, 'beside it');
    writeFileSync(join(folder, 'unnamed.deb'), 'x');
    expect((await get(`/agents/${path}`)).statusCode).toBeGreaterThanOrEqual(400);
  });

  test.each<[string, (path: string) => void]>([
    ['another byte', (path) => writeFileSync(path, 'the DEB')],
    ['a byte more', (path) => writeFileSync(path, 'the deb\n')],
    ['no file', (path) => rmSync(path)],
    [
      'a folder',
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
    ],
    [
      'a link out of the folder, to the right bytes',
      (path) => {
        renameSync(path, `${path}.elsewhere`);
        symlinkSync(`${path}.elsewhere`, path);
      },
    ],
  ])('is not served where SHA256SUMS names other bytes: %s', async (_, spoil) => {
    const { get, list, path } = await built();
    expect((await get(`/agents/${DEB}`)).statusCode).toBe(200);
    spoil(path(DEB));
    const refused = await get(`/agents/${DEB}`);
    expect([refused.statusCode, refused.json().code]).toEqual([503, 'unavailable']);
    expect((await get(`/agents/${RPM}`)).statusCode).toBe(200);
    expect(await list()).toMatchObject({
      files: [{ path: RPM }],
      faults: [expect.stringContaining(`${DEB} is not offered: `)],
    });
  });

  test('below a linked folder is not served, and a linked folder as a whole is', async () => {
    const { folder, get } = await built();
    renameSync(join(folder, 'apt'), `${folder}-apt`);
    symlinkSync(`${folder}-apt`, join(folder, 'apt'));
    expect((await get('/agents/apt/dists/stable/InRelease')).statusCode).toBe(503);
    renameSync(folder, `${folder}-2`);
    symlinkSync(`${folder}-2`, folder);
    expect((await get(`/agents/${DEB}`)).body).toBe('the deb');
  });

  test('follows an upgrade without a restart', async () => {
    const { folder, get, list } = await built();
    expect((await list()).version).toBe(VERSION);
    const next = 'tidegate-agent_99.0.0_linux-x64.deb';
    layAgents(folder, { [next]: 'newer' });
    expect((await get(`/agents/${next}`)).body).toBe('newer');
    expect((await get(`/agents/${DEB}`)).statusCode).toBe(404);
    expect(await list()).toMatchObject({ version: '99.0.0', files: [{ path: next, bytes: 5 }] });
  });

  test('is listed with the hash of each, and of one version alone', async () => {
    const { list } = await built({ ...FILES, 'tidegate-agent_0.0.1_linux-x64.deb': 'older' });
    expect(await list()).toEqual({
      ...{ version: VERSION, faults: [], ca_sha256: null, is_ca_missing: false },
      files: [
        { path: DEB, target: 'linux-x64', format: 'deb', bytes: 7, sha256: sha256Hex('the deb') },
        { path: RPM, target: 'linux-arm64', format: 'rpm', bytes: 7, sha256: sha256Hex('the rpm') },
      ],
    });
  });

  test.each<[string, Record<string, string> | null, RegExp]>([
    ['no folder', null, /^There is no software for agents in .*: install the package tidegate-agents/],
    ['no package in it', { 'release.pem': 'x' }, /holds no package of the agent/],
  ])('without any the list says why: %s', async (_, files, why) => {
    const { list } = await built(files);
    expect(await list()).toMatchObject({ version: null, files: [], faults: [expect.stringMatching(why)] });
  });

  test('checksums that are not valid are said, and nothing is served', async () => {
    const { get, list, path } = await built();
    writeFileSync(path('SHA256SUMS'), `${'a'.repeat(64)}  ../x\n`);
    expect((await get('/agents/SHA256SUMS')).statusCode).toBe(404);
    expect((await list()).faults).toEqual([
      expect.stringContaining('SHA256SUMS does not hold lines of sha256sum'),
    ]);
  });
});

describe('downloads', () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  /** The slice alone on a real socket, with a file that no socket buffers. */
  async function listening(stallMs?: number) {
    const folder = tmpDir();
    onTestFinished(folder.remove);
    layAgents(folder.path, { [DEB]: 'x'.repeat(32 * 1024 * 1024) });
    const http = createSliceApp(createTestPlatform(await engine.open()));
    mountAgentPackages(http.routes, {
      folder: openAgentFolder(folder.path),
      ...{ version: VERSION, serverCa: () => ({ kind: 'public' }), log: { error() {} } },
      ...(stallMs === undefined ? {} : { stallMs }),
    });
    await http.listen({ host: '127.0.0.1', port: 0 });
    stops.push(() => http.close());
    const address = http.server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    /** Asks and reads nothing. */
    const idle = async () => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.pause();
      await once(socket, 'connect');
      socket.write(`GET /agents/${DEB} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, 'readable');
      return socket;
    };
    const status = async () => {
      const asked = request({ port, path: `/agents/${DEB}`, agent: false }).end();
      const [response] = await once(asked, 'response');
      asked.on('error', () => {});
      response.destroy();
      return response.statusCode;
    };
    return { http, idle, status };
  }

  test('of one address are limited, and a seat is free again when its download ends', async () => {
    const { idle, status } = await listening();
    const open = [];
    for (let i = 0; i < DOWNLOADS_PER_ADDRESS; i++) open.push(await idle());
    expect(await status()).toBe(503);
    for (const socket of open) socket.destroy();
    await expect.poll(status).toBe(200);
  });

  test('that stand still are given up', async () => {
    const { http, idle } = await listening(50);
    await idle();
    const open = () => promisify(http.server.getConnections.bind(http.server))();
    await expect.poll(open).toBe(0);
  });

  test('do not keep the server from stopping', async () => {
    const { http, idle } = await listening();
    const socket = await idle();
    const closed = once(socket, 'close');
    await http.close();
    socket.resume();
    await closed;
  });
});
