import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestApp } from '../testing/test-app.ts';
import { PAGES } from './routes.ts';

const [SQLITE] = ENGINES;
if (!SQLITE) throw new Error('no engine');

async function built(engine: TestEngine, scriptBytes = 0) {
  const { dataDir } = await engine.place();
  const folder = join(dataDir, 'console');
  await mkdir(join(folder, 'assets'), { recursive: true });
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Tidegate</title>');
  await writeFile(join(folder, 'manifest.json'), '{}');
  await writeFile(join(folder, 'icon.svg'), '<svg/>');
  await writeFile(join(folder, 'assets', 'index-abc.js'), `export {};${' '.repeat(scriptBytes)}`);
  await writeFile(join(folder, 'assets', 'index-abc.js.gz'), gzipSync('export {};'));
  await writeFile(join(folder, 'assets', 'index-abc.js.map'), '{}');
  await writeFile(join(folder, 'assets', '.secret.js'), 'no');
  return createTestApp(engine, { consoleDir: folder });
}

/** Paths of the files that this process has open. */
async function openFiles(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const paths = descriptors.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ''));
  return Promise.all(paths);
}

const ABSENT = [
  '/manifest.json',
  '/index.html',
  '/assets/index-abc.js.gz',
  '/assets/index-abc.js.map',
  '/assets/.secret.js',
  '/assets/',
  '/assets/../index.html',
  '/assets/..%2findex.html',
  '/assets/%2e%2e/%2e%2e/database.sqlite',
  '/nothing',
];

function expectDocument(answer: LightMyRequestResponse): void {
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(answer.headers['cache-control']).toBe('no-cache');
  expect(answer.headers['content-security-policy']).toContain("default-src 'self'");
  expect(answer.headers['content-security-policy']).not.toContain('unsafe');
  expect(answer.headers['x-frame-options']).toBe('DENY');
  expect(answer.body).toContain('<title>Tidegate</title>');
}

/** The routes of the console, as in its router. */
const ROUTER = fileURLToPath(new URL('../../../console/src/router.tsx', import.meta.url));

describe('the built console', () => {
  test('every page of the console is served at its address, also after a reload', async () => {
    const router = await readFile(ROUTER, 'utf8');
    const paths = [...router.matchAll(/(?:age\(\s*|path: )'([^']+)'/g)].map(([, path = '']) => path);
    expect(paths.map((path) => path.replaceAll('$', ':')).toSorted()).toEqual([...PAGES].toSorted());
  });

  test('every page is the document, for everybody, under a policy without inline script', async () => {
    const { http } = await built(SQLITE);
    for (const path of PAGES) expectDocument(await http.inject({ url: `${path.replace(':id', 'x')}?q=1` }));
  });

  test('the browser caches files named by their hash for good, and revalidates the rest', async () => {
    const { http } = await built(SQLITE);
    const script = await http.inject({ url: '/assets/index-abc.js' });
    expect([script.statusCode, script.headers['cache-control']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
    ]);
    expect(script.headers['content-type']).toContain('javascript');
    const icon = await http.inject({ url: '/icon.svg' });
    expect([icon.statusCode, icon.headers['cache-control']]).toEqual([200, 'no-cache']);
    const again = await http.inject({
      url: '/icon.svg',
      headers: { 'if-none-match': String(icon.headers.etag) },
    });
    expect(again.statusCode).toBe(304);
  });

  test('clients that accept compression get the file as the build compressed it', async () => {
    const { http } = await built(SQLITE);
    const answer = await http.inject({
      url: '/assets/index-abc.js',
      headers: { 'accept-encoding': 'gzip, deflate, br' },
    });
    expect(answer.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(answer.headers['content-type']).toContain('javascript');
    expect(gunzipSync(answer.rawPayload).toString()).toBe('export {};');
  });

  test('each accepted encoding is sent as the client weighs it, and never one that it refuses', async () => {
    const { http } = await built(SQLITE);
    const encodingFor = async (accepted: string) =>
      (await http.inject({ url: '/assets/index-abc.js', headers: { 'accept-encoding': accepted } })).headers[
        'content-encoding'
      ];
    expect(
      await Promise.all(['gzip', 'GZIP;q=0.5', 'br', 'gzip;q=0', 'gzipped', ''].map(encodingFor)),
    ).toEqual(['gzip', 'gzip', undefined, undefined, undefined, undefined]);
  });

  if (process.platform === 'linux')
    test('answers that their clients do not read keep no file open', async () => {
      const { http, config } = await built(SQLITE, 4 * 1_048_576);
      const base = await http.listen({ host: '127.0.0.1', port: 0 });
      for (let n = 0; n < 4; n++) {
        const socket = connect({ host: '127.0.0.1', port: Number(new URL(base).port) });
        onTestFinished(() => void socket.destroy());
        const begun = new Promise((resolve) => socket.once('readable', resolve));
        socket.write('GET /assets/index-abc.js HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(4));
        await begun;
      }
      const folder = String(config.consoleDir);
      expect((await openFiles()).filter((path) => path.startsWith(folder))).toEqual([]);
    });

  test('no other file in the folder, or beside it, is served', async () => {
    const { http } = await built(SQLITE);
    for (const path of ABSENT) {
      expect([path, (await http.inject({ url: path })).statusCode]).toEqual([path, 404]);
    }
  });

  test('without a build each page names the command that makes one', async () => {
    const { http } = await createTestApp(SQLITE, { consoleDir: '/nonexistent' });
    const answer = await http.inject({ url: '/' });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([503, 'text/plain; charset=utf-8']);
    expect(answer.body).toContain('npm run build');
  });
});
