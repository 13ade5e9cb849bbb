import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Loopback, listenOnLoopback } from '@tidegate/testkit/loopback';
import { type TmpDir, tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configureRepository, findRepository } from './agent-repository.ts';

const SOURCES = '/etc/apt/sources.list.d/tidegate.sources';
const CA_FILE = '/etc/apt/apt.conf.d/60tidegate-agent';
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
  expect(await configure()).toEqual({ ok: true, file: SOURCES });
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
  write(dirname(CA_FILE).concat('/others'));
  await configure('/etc/ssl/own.pem');
  expect(() => readFileSync(at(CA_FILE))).toThrow('ENOENT');
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
