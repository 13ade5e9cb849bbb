import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SigningKey, signDetached } from '@tidegate/signing/sign';
import { loadTrustedKey, publicKeyPem } from '@tidegate/signing/verify';
import { type Loopback, listenOnLoopback } from '@tidegate/testkit/loopback';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { switchLink } from '../../executor/agent-versions.ts';
import { ownUid } from '../../platform/file-layer.ts';
import { addInstalled, createReleaseKey, TARGET } from '../../testing/own-agent-world.ts';
import type { HostPaths } from '../ecosystem.ts';
import { hostPaths, ownPlaces } from '../host-places.ts';
import { tidegateDriver } from './own-driver.ts';
import { archiveName } from './release-rules.ts';

const HOUR_MS = 3_600_000;

let dir: ReturnType<typeof tmpDir>;
let server: Loopback;
let served: Map<string, Buffer>;
let key: SigningKey;
let paths: HostPaths;
let lib: string;

beforeEach(async () => {
  dir = tmpDir();
  served = new Map();
  server = await listenOnLoopback((request, response) => {
    const bytes = served.get(request.url ?? '');
    response.writeHead(bytes === undefined ? 404 : 200, { 'content-length': bytes?.length ?? 0 });
    response.end(bytes);
  });
  key = createReleaseKey();
  lib = join(dir.path, 'lib');
  addInstalled(lib, '0.1.0');
  for (const name of ['agent', 'proven'] as const) switchLink(lib, name, '0.1.0');
  const release_key = join(dir.path, 'release.pem');
  const { publicKeyHex } = key;
  writeFileSync(release_key, publicKeyPem(loadTrustedKey({ keyId: 'release', publicKeyHex })));
  const places = { agent_versions: lib, release_key };
  const facts = { executorState: dir.path, ownerUid: ownUid(), server: { url: server.url, ca: null } };
  paths = { ...hostPaths(places), own: ownPlaces(places, facts) };
});
afterEach(async () => {
  await server.stop();
  dir.remove();
});

/** The server has these versions, as archives that hold their number. */
function release(versions: readonly string[], signedBy = key): void {
  const lines = versions.map((version) => {
    const bytes = Buffer.from(`archive ${version}`);
    served.set(`/agents/${archiveName(version, TARGET)}`, bytes);
    return `${createHash('sha256').update(bytes).digest('hex')}  ${archiveName(version, TARGET)}\n`;
  });
  const sums = Buffer.from(lines.join(''));
  served.set('/agents/SHA256SUMS', sums);
  served.set('/agents/SHA256SUMS.sig', Buffer.from(signDetached(signedBy, sums)));
}

const targetOf = (toVersion: string) => ({ name: 'tidegate-agent', arch: TARGET, toVersion });

async function planOf(version: string) {
  const planned = await tidegateDriver.plan(paths, { updates: [targetOf(version)] });
  if (!planned.ok) throw new Error(planned.reason);
  return planned.plan.actions;
}

test('the newest signed version is offered, planned and brought with its proof', async () => {
  release(['0.1.0', '0.3.0', '0.2.0']);
  expect(await tidegateDriver.present(paths)).toBe(true);
  const origin = `release key ${key.publicKeyHex}`;
  expect(await tidegateDriver.scan(paths)).toEqual({
    ...{ complete: true, reason: null },
    packages: [{ name: 'tidegate-agent', version: '0.1.0', arch: TARGET }],
    updates: [
      {
        ...{ name: 'tidegate-agent', arch: TARGET, origin },
        ...{ current_version: '0.1.0', available_version: '0.3.0' },
      },
    ],
  });
  const actions = await planOf('0.3.0');
  const filename = archiveName('0.3.0', TARGET);
  expect(actions).toEqual([
    {
      ...{ action: 'upgrade', name: 'tidegate-agent', arch: TARGET, origin },
      ...{ from_version: '0.1.0', to_version: '0.3.0' },
      artifact: {
        ...{ filename, url: `${server.url}/agents/${filename}`, size_bytes: 13 },
        sha256: createHash('sha256').update('archive 0.3.0').digest('hex'),
      },
    },
  ]);
  const directory = join(dir.path, 'job/artifacts');
  mkdirSync(directory, { recursive: true });
  expect(await tidegateDriver.fetch(paths, { actions, directory })).toEqual({ ok: true });
  expect(readdirSync(directory)).toEqual([filename]);
  expect(readFileSync(join(dir.path, 'job/SHA256SUMS'))).toEqual(served.get('/agents/SHA256SUMS'));
  expect(existsSync(join(dir.path, 'job/SHA256SUMS.sig'))).toBe(true);
});

test('a version on trial is not installed yet', async () => {
  release(['0.2.0']);
  addInstalled(lib, '0.2.0');
  switchLink(lib, 'agent', '0.2.0');
  const { packages } = await tidegateDriver.scan(paths);
  expect(packages[0]?.version).toBe('0.1.0');
});

test('a version that has just failed is not offered', async () => {
  release(['0.2.0']);
  const trials = (lastMs: number) =>
    writeFileSync(
      join(dir.path, 'agent-trials.json'),
      JSON.stringify({
        ...{ v: 1, last: null },
        failures: [{ version: '0.2.0', times: 1, last_at: new Date(lastMs).toISOString() }],
      }),
      { mode: 0o644 },
    );
  trials(Date.now());
  expect((await tidegateDriver.scan(paths)).updates).toEqual([]);
  trials(Date.now() - HOUR_MS);
  expect((await tidegateDriver.scan(paths)).updates).toHaveLength(1);
});

test('nothing is offered that another key signed, and the scan says so', async () => {
  release(['0.2.0'], createReleaseKey());
  const scan = await tidegateDriver.scan(paths);
  expect([scan.complete, scan.updates]).toEqual([false, []]);
  expect(scan.reason).toContain('is no signature of SHA256SUMS by the release key of this host');
  expect(await tidegateDriver.plan(paths, { updates: [targetOf('0.2.0')] })).toMatchObject({ ok: false });
});

test('without a release key nothing is offered, and nothing fails', async () => {
  release(['0.2.0']);
  rmSync(join(dir.path, 'release.pem'));
  expect(await tidegateDriver.scan(paths)).toMatchObject({ complete: true, updates: [] });
});

test.each([
  ['a server without releases', () => served.clear()],
  ['unsigned releases', () => served.delete('/agents/SHA256SUMS.sig')],
  ['a host whose agent a package installed', () => rmSync(lib, { recursive: true })],
])('%s: the ecosystem is not there', async (_, happens) => {
  release(['0.2.0']);
  happens();
  expect(await tidegateDriver.present(paths)).toBe(false);
});

test('a larger file than approved is not kept on', async () => {
  release(['0.2.0']);
  const actions = await planOf('0.2.0');
  served.set(`/agents/${archiveName('0.2.0', TARGET)}`, Buffer.from('a longer archive'));
  const directory = join(dir.path, 'job/artifacts');
  mkdirSync(directory, { recursive: true });
  expect(await tidegateDriver.fetch(paths, { actions, directory })).toMatchObject({
    ...{ ok: false, reason: expect.stringMatching(/^artifact_mismatch/) },
  });
});

test('the agent is never planned back, nor to a version that is not offered', async () => {
  release(['0.2.0']);
  for (const request of [
    { updates: [targetOf('0.0.9')] },
    { updates: [targetOf('0.3.0')] },
    { updates: [targetOf('0.2.0'), targetOf('0.2.0')] },
    { updates: [targetOf('0.2.0')], undo: [] },
  ]) {
    expect(await tidegateDriver.plan(paths, request)).toMatchObject({ ok: false });
  }
});
