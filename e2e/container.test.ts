import { createHash, X509Certificate } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readBaseLock } from '../scripts/release/base-lock.ts';
import { basePackages } from '../scripts/release/base-packages.ts';
import {
  type BuiltImage,
  buildImage,
  type Container,
  lackingForImage,
  makeVolume,
  runImage,
  unpackImage,
} from './harness/server-image.ts';

const OPERATOR = { username: 'nina', password: 'a long enough password' };
const EPOCH = '1700000000';
/** A fresh clone downloads Debian's packages first. */
const BUILD_MAX_MS = 300_000;

const Sbom = Type.Object({
  components: Type.Array(
    Type.Object({
      type: Type.String(),
      name: Type.String(),
      purl: Type.Optional(Type.String()),
      hashes: Type.Optional(Type.Array(Type.Object({ alg: Type.String(), content: Type.String() }))),
    }),
  ),
});

const missing = lackingForImage();

describe.skipIf(missing !== null)(`the image${missing === null ? '' : ` (${missing})`}`, () => {
  const folder = tmpDir('tidegate-image-');
  let built: BuiltImage;
  let image: Awaited<ReturnType<typeof unpackImage>>;

  beforeAll(async () => {
    built = await buildImage({ SOURCE_DATE_EPOCH: EPOCH });
    image = await unpackImage(built.archive, folder.path);
  }, BUILD_MAX_MS);

  afterAll(() => {
    built?.remove();
    folder.remove();
  });

  test('has the same bytes from whoever builds it', { timeout: BUILD_MAX_MS }, async () => {
    const again = await buildImage({ SOURCE_DATE_EPOCH: EPOCH, TZ: 'Asia/Tokyo', LC_ALL: 'C.UTF-8' });
    onTestFinished(() => again.remove());
    expect(sha256(readFileSync(again.archive))).toBe(sha256(readFileSync(built.archive)));
    expect(sha256(readFileSync(again.sbom))).toBe(sha256(readFileSync(built.sbom)));
    const sums = (one: BuiltImage) => readFileSync(join(one.folder, 'SHA256SUMS'), 'utf8');
    expect(sums(again)).toBe(sums(built));
    expect(sums(built)).toMatch(/ {2}tidegate-container_0\.2\.0\.tar\.gz$/m);
  });

  test('shares its libraries and Node with the next release', { timeout: BUILD_MAX_MS }, async () => {
    const next = await buildImage({ SOURCE_DATE_EPOCH: String(Number(EPOCH) + 86_400) });
    onTestFinished(() => next.remove());
    const unpacked = tmpDir('tidegate-image-');
    onTestFinished(() => unpacked.remove());
    const { manifest } = await unpackImage(next.archive, unpacked.path);
    const digests = (layers: typeof manifest.layers) => layers.map(({ digest }) => digest);
    expect(digests(manifest.layers).slice(0, 2)).toEqual(digests(image.manifest.layers).slice(0, 2));
    expect(manifest.layers[2]?.size).toBeLessThan(8_000_000);
  });

  test('is an OCI layout whose digests and sizes are true, with the manifest of Docker beside it', () => {
    const { layout, index, manifest, config, forDocker } = image;
    for (const { digest, size } of [...index.manifests, manifest.config, ...manifest.layers]) {
      const bytes = readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
      expect([`sha256:${sha256(bytes)}`, bytes.length]).toEqual([digest, size]);
    }
    const paths = manifest.layers.map(({ digest }) => join('blobs', digest.replace(':', '/')));
    const unpacked = paths.map((path) => `sha256:${sha256(gunzipSync(readFileSync(join(layout, path))))}`);
    expect(config.rootfs.diff_ids).toEqual(unpacked);
    expect(forDocker).toEqual([
      {
        Config: join('blobs', manifest.config.digest.replace(':', '/')),
        RepoTags: ['localhost/tidegate:0.2.0'],
        Layers: paths,
      },
    ]);
  });

  test('has exactly the files that its SBOM lists, with the packages of Debian that they are from', () => {
    const { components } = Value.Parse(Sbom, JSON.parse(readFileSync(built.sbom, 'utf8')));
    const listed = components
      .filter(({ type }) => type === 'file')
      .map(({ name, hashes = [] }) => `${hashes[0]?.content} ${name}`);
    const there = pathsOf(image.root)
      .filter((path) => lstatSync(join(image.root, path)).isFile())
      .map((path) => `${sha256(readFileSync(join(image.root, path)))} ${path}`);
    expect(there.sort()).toEqual(listed.sort());
    const debian = components.flatMap(({ purl = '' }) => /^pkg:deb\/debian\/([^@]+)@/.exec(purl)?.[1] ?? []);
    expect(debian).toEqual(readdirSync(join(image.root, 'var/lib/dpkg/status.d')).map(encodeURIComponent));
    for (const name of debian.map(decodeURIComponent)) {
      expect(readFileSync(join(image.root, `usr/share/doc/${name}/copyright`), 'utf8')).not.toBe('');
    }
  });

  test("has no shell, no program but Node and tidegate, no other user's rights and no link to nowhere", () => {
    const programs = pathsOf(image.root).filter((path) => {
      const stat = lstatSync(join(image.root, path));
      return stat.isFile() && (stat.mode & 0o111) !== 0 && !/\.so(\.[0-9]+)*$/.test(path);
    });
    expect(programs).toEqual(['/usr/bin/tidegate', '/usr/lib/tidegate/bin/node']);
    for (const path of pathsOf(image.root)) {
      const { mode } = lstatSync(join(image.root, path));
      expect([path, mode & 0o6000], 'setuid and setgid').toEqual([path, 0]);
      if (lstatSync(join(image.root, path)).isSymbolicLink()) {
        expect(realpathSync(join(image.root, path)).startsWith(image.root), path).toBe(true);
      } else if (path !== '/tmp') {
        expect([path, mode & 0o022], 'writable by others').toEqual([path, 0]);
      }
    }
  });

  test('does not start where others could read passwords in transit, and says what to set', async () => {
    const server = start({}, { host: null });
    expect(await server.ended).toEqual({ code: 1, signal: null });
    expect(server.stderr.join('\n')).toMatch(
      /SERVICE_TLS_CERT.*SERVICE_TRUSTED_PROXIES.*SERVICE_ALLOW_PLAIN_HTTP/,
    );
  });

  test('runs without a way to write to its root, keeps its data over a restart, and ends by SIGTERM', async () => {
    const data = makeVolume(folder.path);
    const first = start({ SERVICE_PORT: '0' }, { data });
    const url = await listening(first);
    const secret = /\/setup\/(\S+)/.exec(await first.line(/\/setup\//))?.[1];
    expect(await (await fetch(`${url}/api/health`)).json()).toMatchObject({ status: 'ok', version: '0.2.0' });
    expect((await fetch(`${url}/`)).headers.get('content-type')).toContain('text/html');
    expect((await post(`${url}/api/v1/auth/setup`, { secret, ...OPERATOR })).status).toBeLessThan(300);

    const beside = { SERVICE_PORT: new URL(url).port };
    const health = image.config.config.Healthcheck.Test;
    expect(health[0]).toBe('CMD');
    expect(await output(start(beside, { data, command: health.slice(1) }))).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^ok {3}running: 0\.2\.0, ok/),
    });
    const examined = await output(start(beside, { data, words: ['doctor'] }));
    expect(examined).toMatchObject({ code: 0, text: expect.not.stringContaining('FAIL') });

    first.tell('SIGTERM');
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(first.stdout.at(-1)).toMatch(/"msg":"[^"]*stopped"/);
    expect(await output(start(beside, { data, command: health.slice(1) }))).toMatchObject({ code: 1 });

    const second = start({ SERVICE_PORT: '0' }, { data });
    const again = await listening(second);
    expect((await post(`${again}/api/v1/auth/login`, OPERATOR)).status).toBe(200);
    expect(second.stdout.join('\n')).not.toContain('/setup/');
    second.tell('SIGTERM');
    expect(await second.ended).toEqual({ code: 0, signal: null });
  });

  test('the program is nobody in particular, writes to /data and /tmp alone, and knows zones and authorities', async () => {
    const script = `
      const fs = require('node:fs');
      const tried = ['/', '/etc', '/usr/lib/tidegate', '/data', '/tmp'].map((folder) => {
        try { fs.writeFileSync(folder + '/probe', ''); return folder + ' yes'; } catch (error) { return folder + ' ' + error.code; }
      });
      const caps = /^CapEff:\\s*(\\S+)/m.exec(fs.readFileSync('/proc/self/status', 'utf8'));
      const zone = new Intl.DateTimeFormat('en', { timeZone: 'America/New_York', timeZoneName: 'short' }).format(0);
      const { getCACertificates } = require('node:tls');
      const authorities = getCACertificates('system').length;
      console.log(JSON.stringify({ uid: process.getuid(), pid: process.pid, tried, caps: caps?.[1], zone, authorities }));`;
    const node = ['/usr/lib/tidegate/bin/node', '-e', script];
    const { text } = await output(start({}, { command: node }));
    const said: Record<string, unknown> = JSON.parse(text);
    expect(said).toEqual({
      uid: 65_532,
      pid: 1,
      tried: ['/ EROFS', '/etc EROFS', '/usr/lib/tidegate EROFS', '/data yes', '/tmp yes'],
      caps: '0000000000000000',
      zone: expect.stringContaining('EST'),
      authorities: expect.any(Number),
    });
    expect(said.authorities).toBeGreaterThan(100);
  });

  test('trusts an authority of the operator that is mounted in place of the bundle', async () => {
    const data = volume();
    const pem = await selfSigned();
    writeFileSync(join(data, 'own.pem'), pem);
    const script = `
      const { X509Certificate } = require('node:crypto');
      const trusted = require('node:tls').getCACertificates('default');
      console.log(trusted.map((pem) => new X509Certificate(pem).fingerprint256).join());`;
    const command = ['/usr/lib/tidegate/bin/node', '-e', script];
    const { text } = await output(start({ SSL_CERT_FILE: '/data/own.pem' }, { data, command }));
    expect(text).toContain(new X509Certificate(pem).fingerprint256);
  });

  test('is not built of packages that Debian no longer has, or of others than were pinned', async () => {
    const { suite, release, packages } = readBaseLock();
    const [[name, pinned] = ['', { version: '', sha256: '' }]] = Object.entries(packages.amd64);
    const build = (changed: Partial<typeof pinned>) =>
      basePackages('amd64', {
        suite,
        release,
        packages: { amd64: { [name]: { ...pinned, ...changed } }, arm64: {} },
      });
    expect(() => build({ version: '0.0.1', sha256: '0'.repeat(64) })).toThrow(
      /0\.0\.1 cannot be had from Debian's archive\. .*node scripts\/lock-container-base\.ts/,
    );
    expect(() => build({ sha256: '0'.repeat(64) })).toThrow(/is not the package that base\.lock\.json names/);
  });

  /** Like an engine, with a volume of its own unless `data` is one; `host` null leaves the address that the image sets. */
  function start(
    env: Record<string, string>,
    options: { data?: string; host?: null; words?: readonly string[]; command?: readonly string[] } = {},
  ): Container {
    const data = options.data ?? volume();
    const address: Record<string, string> = options.host === null ? {} : { SERVICE_HOST: '127.0.0.1' };
    const container = runImage(
      { root: image.root, config: image.config.config },
      {
        ...options,
        data,
        // As the chart sets it: a folder of the server's own in a volume that is open to the group.
        env: { SERVICE_DATA_DIR: '/data/server', SERVICE_ADVISORY_SOURCE: 'off', ...address, ...env },
      },
    );
    onTestFinished(async () => {
      if (!container.hasEnded()) container.signal('SIGKILL');
      await container.ended;
    });
    return container;
  }
});

function volume(): string {
  const folder = tmpDir('tidegate-volume-');
  onTestFinished(() => folder.remove());
  return makeVolume(folder.path);
}

function selfSigned(): Promise<string> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', '/dev/null'];
  return runTool('openssl', [
    'req',
    '-x509',
    ...key,
    '-days',
    '1',
    '-subj',
    '/CN=authority.example',
    '-out',
    '-',
  ]);
}

async function listening(server: Container): Promise<string> {
  const line = await server.line(/"url":"/);
  const url = /"url":"([^"]+)"/.exec(line)?.[1];
  if (url === undefined) throw new Error(`no address in ${line}`);
  return url;
}

async function output(container: Container): Promise<{ code: number | null; text: string }> {
  const { code } = await container.ended;
  return { code, text: [...container.stdout, ...container.stderr].join('\n') };
}

/** Every path of a root, with a slash before it, links not followed. */
function pathsOf(root: string, path = ''): string[] {
  const entries = readdirSync(join(root, path), { withFileTypes: true });
  return entries
    .flatMap((entry) => {
      const inner = `${path}/${entry.name}`;
      return entry.isDirectory() ? [inner, ...pathsOf(root, inner)] : [inner];
    })
    .sort();
}

function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: new URL(url).origin },
    body: JSON.stringify(body),
  });
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
