import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { DEMO } from '@tidegate/testkit/apt-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostPaths } from '../host-places.ts';
import { aptDriver } from './apt.ts';
import { onlySigner, parseTargets } from './signers.ts';

const missing = aptHostMissing();
const [A, B] = ['A'.repeat(40), 'B'.repeat(40)];
const valid = (key: string) => `[GNUPG:] VALIDSIG ${'C'.repeat(40)} 2026-01-01 1 0 4 0 1 8 01 ${key}`;

test.each([
  ['one valid signature: its primary key', [valid(A)], A.toLowerCase()],
  ['one key that signed twice', [valid(A), valid(A)], A.toLowerCase()],
  ['two keys', [valid(A), valid(B)], null],
  ['none', [], null],
  ['a bad one beside it', [valid(A), `[GNUPG:] BADSIG ${B} x`], null],
  ['an expired key', [valid(A), `[GNUPG:] EXPKEYSIG ${A} x`], null],
  ['a user id that looks like a status', [`gpgv: ${valid(A)}`], null],
])('gpgv says: %s', (_what, lines, key) => {
  expect(onlySigner(lines.join('\n'))).toBe(key);
});

test('the release file of an index is found; of a list that cannot be read there is none', () => {
  const line = 'http://x/d/|main/binary-amd64/Packages|/l/x_d_dists_s_main_binary-amd64_Packages.lz4';
  expect(parseTargets(`${line}\n mQINBF\n`)).toEqual([]);
  expect(parseTargets(`${line}|x\n`)).toEqual([]);
  expect(parseTargets(`${line}\n`)).toEqual([
    { repository: 'http://x/d/', release: '/l/x_d_dists_s_InRelease' },
  ]);
});

describe.skipIf(missing !== null)('the key of a repository on a real host', () => {
  const dir = tmpDir('tidegate-signers-');
  const env = { GNUPGHOME: join(dir.path, 'gnupg') };
  let host: AptHost;
  const gpg = (...args: string[]) =>
    runTool('gpg', ['--batch', '--quiet', '--yes', '--passphrase', '', ...args], { env });

  beforeAll(async () => {
    host = await createAptHost(dir.path, { packages: [DEMO], transport: 'http' });
    await mkdir(env.GNUPGHOME);
    await chmod(env.GNUPGHOME, 0o700);
    for (const name of ['first', 'second']) await gpg('--quick-gen-key', name, 'ed25519', 'sign', 'never');
  });
  afterAll(async () => {
    await runTool('gpgconf', ['--homedir', env.GNUPGHOME, '--kill', 'gpg-agent']);
    await host.stop();
    dir.remove();
  });

  async function fingerprint(name: string): Promise<string> {
    const listed = await gpg('--with-colons', '--list-keys', name);
    return /^fpr:+([0-9A-F]{40}):/m.exec(listed)?.[1]?.toLowerCase() ?? '';
  }

  /** Signs both suites and has apt read them with one keyring; returns the keys of a plan's packages. */
  async function keysAfter(signers: readonly string[], { armor = false, keyring = true } = {}) {
    const keyrings = join(host.root, 'etc/apt/keyrings');
    await rm(keyrings, { recursive: true, force: true });
    await mkdir(keyrings);
    const file = join(keyring ? keyrings : dir.path, armor ? 'keys.asc' : 'keys.gpg');
    await gpg(...(armor ? ['--armor'] : []), '--output', file, '--export');
    for (const suite of ['bookworm', 'bookworm-security']) {
      const folder = join(host.archive.folder, 'dists', suite);
      const users = signers.flatMap((name) => ['--local-user', name]);
      await rm(join(folder, 'InRelease'), { force: true });
      await gpg(...users, '--output', join(folder, 'InRelease'), '--clearsign', join(folder, 'Release'));
    }
    const list = join(host.root, 'etc/apt/sources.list');
    const sources = await readFile(list, 'utf8');
    const options = keyring ? `[signed-by=${file}]` : '[trusted=yes]';
    await writeFile(list, sources.replaceAll(/\[[^\]]*\]/g, options));
    await runTool('apt-get', ['-qq', 'update'], { env: host.env });
    const updates = [{ name: 'demo', arch: 'all', toVersion: '1.1-1' }];
    const outcome = await aptDriver.plan(hostPaths({ apt_config: host.aptConf }), { updates });
    if (!outcome.ok) throw new Error(outcome.reason);
    return [...new Set(outcome.plan.actions.map((action) => action.origin_key))];
  }

  test('is the one that signed its release file, in a binary or armoured keyring', async () => {
    expect(await keysAfter(['first'])).toEqual([await fingerprint('first')]);
    expect(await keysAfter(['second'], { armor: true })).toEqual([await fingerprint('second')]);
  });

  test('is not named where two keys signed, or where the host has no key of it', async () => {
    expect(await keysAfter(['first', 'second'])).toEqual([undefined]);
    expect(await keysAfter(['first'], { keyring: false })).toEqual([undefined]);
  });
});
