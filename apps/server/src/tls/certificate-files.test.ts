import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createAuthority, type TestPair } from '@tidegate/testkit/certificates';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLog } from '../platform/log.ts';
import { presentedOn } from '../testing/tls-peer.ts';
import { openCertificateFiles } from './certificate-files.ts';

const authority = await createAuthority();
const [first, second, third] = [await newPair(), await newPair(), await newPair()];

function newPair(): Promise<TestPair> {
  return authority.issue(['tidegate.example']);
}

const fingerprintOf = ({ cert }: TestPair) => new X509Certificate(cert).fingerprint256;

/** A server with the pair of a folder, as it is laid out by `lay`. */
async function serve(lay: (folder: string, pair: TestPair) => void = layFiles) {
  const folder = tmpDir();
  onTestFinished(folder.remove);
  lay(folder.path, first);
  const lines: string[] = [];
  const log = createLog({
    ...{ level: 'debug', format: 'text', now: () => 0 },
    write: (line) => lines.push(line),
  });
  const source = { cert: join(folder.path, 'cert.pem'), key: join(folder.path, 'key.pem') };
  const opened = openCertificateFiles(source, log);
  if (!opened.ok) throw new Error(opened.fault);
  const { tls } = opened;
  const server = createServer((_, response) => response.end('here'));
  tls.attach(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { ...{ folder: folder.path, source, tls, lines, port }, presented: () => presentedOn(port) };
}

function layFiles(folder: string, { cert, key }: TestPair): void {
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
}

/** Links to a folder for each pair, as Kubernetes lays them out. */
function layLinkedFolder(folder: string, pair: TestPair): void {
  mkdirSync(join(folder, 'data-1'));
  layFiles(join(folder, 'data-1'), pair);
  symlinkSync('data-1', join(folder, 'data'));
  for (const name of ['cert.pem', 'key.pem']) symlinkSync(`data/${name}`, join(folder, name));
}

/** Links into an archive, as certbot lays them out. */
function layArchive(folder: string, pair: TestPair): void {
  mkdirSync(join(folder, 'archive'));
  writeFileSync(join(folder, 'archive/cert1.pem'), pair.cert);
  writeFileSync(join(folder, 'archive/key1.pem'), pair.key);
  for (const name of ['cert', 'key']) symlinkSync(`archive/${name}1.pem`, join(folder, `${name}.pem`));
}

describe('a changed pair is presented at the next look', () => {
  test('when the files are written in place', async () => {
    const it = await serve();
    expect(await it.presented()).toBe(fingerprintOf(first));
    layFiles(it.folder, second);
    await it.tls.look('timer');
    expect(await it.presented()).toBe(fingerprintOf(second));
    expect(it.lines).toEqual([expect.stringContaining('[INFO] certificate reloaded valid_until=20')]);
  });

  test('when the files are replaced by renamed ones', async () => {
    const it = await serve();
    for (const [name, text] of [
      ['cert.pem', second.cert],
      ['key.pem', second.key],
    ] as const) {
      writeFileSync(join(it.folder, `${name}.new`), text);
      renameSync(join(it.folder, `${name}.new`), join(it.folder, name));
    }
    await it.tls.look('timer');
    expect(await it.presented()).toBe(fingerprintOf(second));
  });

  test('when the link to their folder is replaced', async () => {
    const it = await serve(layLinkedFolder);
    mkdirSync(join(it.folder, 'data-2'));
    layFiles(join(it.folder, 'data-2'), second);
    symlinkSync('data-2', join(it.folder, 'data-new'));
    renameSync(join(it.folder, 'data-new'), join(it.folder, 'data'));
    await it.tls.look('timer');
    expect(await it.presented()).toBe(fingerprintOf(second));
  });

  test('when the links into the archive are replaced one by one', async () => {
    const it = await serve(layArchive);
    for (const name of ['key', 'cert'] as const) {
      writeFileSync(join(it.folder, `archive/${name}2.pem`), second[name]);
      symlinkSync(`archive/${name}2.pem`, join(it.folder, 'new'));
      renameSync(join(it.folder, 'new'), join(it.folder, `${name}.pem`));
      await it.tls.look('timer');
    }
    expect(await it.presented()).toBe(fingerprintOf(second));
    // Between the two links the pair did not fit, and that was over at the next look.
    expect(it.lines).toEqual([expect.stringContaining('certificate reloaded')]);
  });
});

describe('a pair that cannot be used leaves the old one in use and is logged once', () => {
  test.each<[string, string, (folder: string) => void]>([
    ['half a pair', 'the key does not belong to the certificate', (folder) => layFiles(folder, mixed())],
    ['half a certificate', 'the certificate cannot be parsed', (folder) => layFiles(folder, cut('cert'))],
    ['half a key', 'the key cannot be parsed', (folder) => layFiles(folder, cut('key'))],
    [
      'an empty certificate',
      'the certificate cannot be parsed',
      (folder) => layFiles(folder, { ...second, cert: '' }),
    ],
    [
      'no key',
      'the file of SERVICE_TLS_KEY cannot be read (ENOENT)',
      (folder) => rmSync(join(folder, 'key.pem')),
    ],
  ])('%s: %s', async (_, cause, spoil) => {
    const it = await serve();
    spoil(it.folder);
    for (let look = 0; look < 4; look++) await it.tls.look('timer');
    expect(await it.presented()).toBe(fingerprintOf(first));
    expect(it.lines).toEqual([
      expect.stringContaining(`[WARN] the changed certificate is not used cause=${JSON.stringify(cause)}`),
    ]);
    layFiles(it.folder, third);
    await it.tls.look('timer');
    expect(await it.presented()).toBe(fingerprintOf(third));
  });

  test('and at once to an operator who asks', async () => {
    const it = await serve();
    layFiles(it.folder, mixed());
    await it.tls.look('operator');
    await it.tls.look('operator');
    await it.tls.look('timer');
    expect(it.lines).toHaveLength(1);
    expect(it.lines.join()).not.toContain('PRIVATE');
  });
});

test('a connection that is open outlives the change', async () => {
  const it = await serve();
  const ask = request({ port: it.port, host: '127.0.0.1', rejectUnauthorized: false, method: 'POST' });
  ask.flushHeaders();
  await once(ask, 'socket').then(([socket]) => once(socket, 'secureConnect'));
  layFiles(it.folder, second);
  await it.tls.look('timer');
  ask.end();
  const [response] = await once(ask, 'response');
  expect(await text(response)).toBe('here');
});

test('PEM text in the settings is a pair as well, and is never read from disk', async () => {
  const opened = openCertificateFiles(
    first,
    createLog({ level: 'debug', format: 'text', now: () => 0, write: () => {} }),
  );
  expect(opened.ok && opened.tls.current()).toEqual({
    ...first,
    ticketKey: expect.stringMatching(/^[0-9a-f]{96}$/),
  });
});

function mixed(): TestPair {
  return { cert: second.cert, key: third.key };
}

function cut(part: 'cert' | 'key'): TestPair {
  return { ...second, [part]: second[part].slice(0, 120) };
}
