import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Loopback, listenOnLoopback } from '@tidegate/testkit/loopback';
import { type TmpDir, tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { refusalOfAgentUpdates } from '../host-policy/describe-policy.ts';
import { loadHostPolicy } from '../host-policy/policy.ts';
import { ownUid } from '../platform/file-layer.ts';
import { configureRepository, findRepository, offerUpdates } from './agent-repository.ts';

const SOURCES = '/etc/apt/sources.list.d/tidegate.sources';
const WAY_FILE = '/etc/apt/apt.conf.d/60tidegate-agent';
const SIGNED = '-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n';

let folder: TmpDir;
let server: Loopback;
let served: Record<string, string>;
const at = (path: string) => join(folder.path, path);
const write = (path: string, text = '') => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};
const configure = (caFile: string | null = null) =>
  configureRepository({ serverUrl: server.url, root: folder.path, caFile, serverCa: null });

beforeEach(async () => {
  folder = tmpDir('tidegate-repository-');
  served = { '/agents/dists/stable/InRelease': SIGNED };
  server = await listenOnLoopback((request, response) => {
    const text = served[request.url ?? ''];
    response.writeHead(text === undefined ? 404 : 200).end(text);
  });
  write('/usr/share/keyrings/tidegate-agent.asc', 'a key');
  write('/var/lib/dpkg/info/tidegate-agent.list');
  write(SOURCES.replace('tidegate.sources', 'others.sources'));
});
afterEach(async () => {
  await server.stop();
  folder.remove();
});

test('a host with apt gets a source of this server alone, signed by the key of its package', async () => {
  expect(await configure()).toEqual({ ok: true, file: SOURCES, note: null });
  const [first, ...rest] = readFileSync(at(SOURCES), 'utf8').split('\n');
  expect(first).toMatch(/^# Written by tidegate-agent enrol/);
  expect(rest).toEqual([
    'Types: deb',
    `URIs: ${server.url}/agents`,
    'Suites: stable',
    'Components: main',
    `Architectures: ${process.arch === 'x64' ? 'amd64' : 'arm64'}`,
    'Signed-By: /usr/share/keyrings/tidegate-agent.asc',
    '',
  ]);
  expect(findRepository(folder.path)).toEqual({ file: SOURCES, url: `${server.url}/agents` });
});

describe('nothing is written', () => {
  test.each<[string, () => void, string]>([
    ['without a key', () => (folder = withoutKey()), 'not installed from a signed package'],
    ['where no package was installed', () => (folder = withoutPackage()), 'neither apt nor dnf'],
    ['if the server has no repository', () => (served = {}), 'no signed repository of its agent (404'],
    [
      'if it has one that nobody signed',
      () => (served = { '/agents/dists/stable/InRelease': 'Origin: Tidegate\n' }),
      'no signed repository of its agent',
    ],
    [
      'if it has too little',
      () => (served = { '/agents/dists/stable/InRelease': '-----BEGIN' }),
      'no signed repository of its agent',
    ],
    ['over a file of root', () => write(SOURCES, 'Types: deb\n'), 'was changed by hand'],
  ])('%s', async (_, change, words) => {
    change();
    expect(await configure()).toEqual({ ok: false, detail: expect.stringContaining(words) });
  });

  test('over what root has changed in it; what is as it was is replaced', async () => {
    await configure();
    expect(await configure()).toMatchObject({ ok: true });
    write(SOURCES, readFileSync(at(SOURCES), 'utf8').replace('stable', 'mine'));
    expect(await configure()).toEqual({ ok: false, detail: expect.stringContaining('was changed by hand') });
    expect(readFileSync(at(SOURCES), 'utf8')).toContain('Suites: mine');
  });

  test.each(['ca.pem', '/etc/a "ca".pem', '/etc/ca\n.pem'])('with the CA %j', async (caFile) => {
    expect(await configure(caFile)).toEqual({ ok: false, detail: expect.stringContaining('absolute path') });
  });
});

test('a CA is for https alone', async () => {
  write(dirname(WAY_FILE).concat('/others'));
  await configure('/etc/ssl/own.pem');
  expect(() => readFileSync(at(WAY_FILE))).toThrow('ENOENT');
});

describe('the proxy of the agent', () => {
  const PROXY = 'http://proxy.example:3128';
  /** An address of this machine, which alone is never called through a proxy. */
  const url = () => server.url.replace('127.0.0.1', '0.0.0.0');
  const through = (proxy: string | null) =>
    configureRepository({
      ...{ serverUrl: url(), root: folder.path, caFile: null, serverCa: null },
      env: proxy === null ? {} : { HTTP_PROXY: proxy },
    });
  const written = (file: string) => readFileSync(at(file), 'utf8').split('\n').slice(1);
  beforeEach(() => write(dirname(WAY_FILE).concat('/others')));

  test('is named to apt for this server alone, and taken out when there is none any more', async () => {
    expect(await through(PROXY)).toEqual({ ok: true, file: SOURCES, note: null });
    expect(written(WAY_FILE)).toEqual([`Acquire::http::Proxy::0.0.0.0 "${PROXY}";`, '']);
    expect(await through(null)).toMatchObject({ ok: true });
    expect(() => readFileSync(at(WAY_FILE))).toThrow('ENOENT');
  });

  test('is named to dnf in the repository of this server', async () => {
    folder = withoutPackage();
    write('/etc/yum.repos.d/others.repo');
    served = { '/agents/repodata/repomd.xml.asc': '-----BEGIN PGP SIGNATURE-----\n' };
    const named = await configureRepository({
      ...{ serverUrl: url(), root: folder.path, caFile: null, serverCa: null, env: { HTTP_PROXY: PROXY } },
      rpmOptions: ['--version'],
    });
    expect(named).toMatchObject({ ok: true });
    expect(written('/etc/yum.repos.d/tidegate.repo')).toContain(`proxy=${PROXY}`);
  });

  test('is never written with its password, which everybody could read', async () => {
    const note = expect.stringContaining(`Name the proxy ${PROXY} with its password`);
    expect(await through('http://ann:secret@proxy.example:3128')).toEqual({ ok: true, file: SOURCES, note });
    expect(() => readFileSync(at(WAY_FILE))).toThrow('ENOENT');
    write(WAY_FILE, 'of root');
    expect(await through('http://ann:secret@proxy.example:3128')).toMatchObject({ ok: true });
    expect(readFileSync(at(WAY_FILE), 'utf8')).toBe('of root');
  });
});

describe('enrolment offers updates of the agent', () => {
  const request = () => ({ serverUrl: server.url, root: folder.path, caFile: null, serverCa: null });

  const refusal = (text: string | null) => {
    if (text !== null) write('/policy.json', text);
    const place = { path: at('/policy.json'), ownerUid: ownUid(), top: folder.path };
    return refusalOfAgentUpdates(loadHostPolicy(place));
  };

  test.each([
    ['with --no-repository', false, null, '--no-repository'],
    ['where the policy says never', true, '{"v":1,"agent_updates":"never"}', 'the policy of this host is '],
    ['where the policy cannot be followed', true, '{', 'the policy of this host is '],
  ])('not %s: nothing is written', async (_, isWanted, text, words) => {
    const { file, detail } = await offerUpdates(request(), { isWanted, refusal: refusal(text) });
    expect([file, detail]).toEqual([null, expect.stringContaining(`come by hand: ${words}`)]);
    expect(() => readFileSync(at(SOURCES))).toThrow('ENOENT');
  });

  test('otherwise', async () => {
    const offered = await offerUpdates(request(), { isWanted: true, refusal: refusal(null) });
    expect(offered).toEqual({ file: SOURCES, detail: `${SOURCES} offers updates of the agent` });
  });
});

function withoutKey(): TmpDir {
  const made = tmpDir('tidegate-repository-');
  folder.remove();
  return made;
}

function withoutPackage(): TmpDir {
  folder = withoutKey();
  write('/usr/share/keyrings/tidegate-agent.asc', 'a key');
  return folder;
}
