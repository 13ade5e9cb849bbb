import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type AptHost, type AptHostOptions, aptHostMissing, createAptHost } from './apt-host.ts';
import { DEMO, FAILING, HELD, NEW_DEPENDENCY, REMOVAL } from './apt-packages.ts';
import { runTool } from './run-tool.ts';
import { tmpDir } from './tmp.ts';

const missing = aptHostMissing();
const asRoot = process.getuid?.() === 0;

describe.skipIf(missing !== null)(`a throw-away apt host${missing === null ? '' : ` (${missing})`}`, () => {
  test('has the old versions installed and sees the new ones, with their origins', async () => {
    await withHost({}, async (host) => {
      expect(Object.fromEntries(await host.installed())).toEqual({ demo: '1.0-1', libdemo: '1.0-1' });
      const plan = await simulate(host, '--only-upgrade', 'demo');
      expect(plan).toContain('Inst libdemo [1.0-1] (1.0-1+deb12u1 Debian-Security:12/stable-security [all])');
      expect(plan).toContain('Inst demo [1.0-1] (1.1-1 Debian:12.9/stable [all])');
    });
  });

  test('offers hashes that are those of the files, the same for every host, and sources with a version of their own', async () => {
    await withHost({}, async (host) => {
      const shown = await runTool('apt-cache', ['show', 'demo=1.1-1'], { env: host.env });
      const file = host.debPath('demo', '1.1-1');
      const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
      expect(shown).toContain(`SHA256: ${hash}`);
      expect(shown).toContain('Source: demo-src (1.1-2)');
      expect(() => host.debPath('demo', '9')).toThrow(/never published/);
      await withHost({}, async (twin) => {
        expect(readFileSync(twin.debPath('demo', '1.1-1')).equals(readFileSync(file))).toBe(true);
      });
    });
  });

  test('installs for real into its own database, and rolls back', async () => {
    await withHost({}, async (host) => {
      const before = await host.installed();
      await install(host, '--only-upgrade', 'demo');
      expect(Object.fromEntries(await host.installed())).toEqual({ demo: '1.1-1', libdemo: '1.0-1+deb12u1' });
      expect(readFileSync(join(host.root, 'usr/share/demo/version'), 'utf8')).toBe('1.1-1\n');
      await host.rollBack();
      expect(await host.installed()).toEqual(before);
      expect(existsSync('/usr/share/demo')).toBe(false);
    });
  });

  test('publishes newer versions, and another file under the same version', async () => {
    await withHost({}, async (host) => {
      await host.publish({ name: 'demo', version: '2.0-1' });
      expect(await simulate(host, 'demo')).toContain('Inst demo [1.0-1] (2.0-1 ');
      const file = host.debPath('demo', '2.0-1');
      const before = readFileSync(file);
      await host.publish({ name: 'demo', version: '2.0-1', content: 'rebuilt' });
      expect(readFileSync(file).equals(before)).toBe(false);
    });
  });

  test('holds back what is held, brings in what is new and drives out what conflicts', async () => {
    await withHost({ packages: [DEMO, HELD, NEW_DEPENDENCY, REMOVAL] }, async (host) => {
      const before = await host.installed();
      const all = await runTool('apt-get', ['-s', 'dist-upgrade'], { env: host.env });
      expect(all).not.toContain('Inst pinned');
      expect(all).toMatch(/kept back:\n\s+pinned/);
      expect(all).toContain('Inst libgrowing (2.0-1 ');
      expect(all).toContain('Remv ousted [1.0-1]');
      await install(host, 'growing', 'ousting');
      const names = [...(await host.installed()).keys()].sort();
      expect(names).toEqual(['demo', 'growing', 'libdemo', 'libgrowing', 'ousting', 'pinned']);
      await host.rollBack();
      expect(await host.installed()).toEqual(before);
      expect(await runTool('apt-get', ['-s', 'dist-upgrade'], { env: host.env })).not.toContain(
        'Inst pinned',
      );
    });
  });

  test('shows a package whose set-up failed as not installed, and rolls back from there', async () => {
    await withHost({ packages: [FAILING] }, async (host) => {
      await expect(install(host, 'fragile')).rejects.toThrow(/fragile cannot be set up/);
      expect(await host.installed()).toEqual(new Map());
      await host.rollBack();
      expect(await host.installed()).toEqual(new Map([['fragile', '1.0-1']]));
    });
  });

  test('over http every file is a real download', async () => {
    await withHost({ transport: 'http' }, async (host) => {
      using stage = tmpDir();
      await runTool('apt-get', ['-qq', 'download', 'demo=1.1-1'], { env: host.env, cwd: stage.path });
      const file = host.debPath('demo', '1.1-1');
      expect(readFileSync(join(stage.path, basename(file))).equals(readFileSync(file))).toBe(true);
      expect(host.fetched).toContain(`/pool/bookworm/${basename(file)}`);
    });
  });

  test('can be read by every user, whatever the umask of its maker is', async () => {
    using dir = tmpDir();
    await runTool('/bin/sh', ['-c', 'umask 077; exec "$0" -e "$1"', process.execPath, makeIn(dir.path)]);
    const read = ['archive', 'apt.conf', 'host/etc', 'host/var/lib/dpkg/status', 'host/var/lib/dpkg/info'];
    const closed = ['(', '!', '-perm', '-o=r', '-o', '-type', 'd', '!', '-perm', '-o=x', ')'];
    expect(await runTool('find', [...read, ...closed], { cwd: dir.path })).toBe('');
    const lists = join(dir.path, 'host/var/lib/apt/lists');
    expect(await runTool('find', [lists, '-name', '*_Packages', '-perm', '-o=r'])).toContain(
      'bookworm-security',
    );
    if (!asRoot) return;
    const env = { APT_CONFIG: join(dir.path, 'apt.conf') };
    const plan = await runTool('apt-get', ['-s', 'install', 'demo'], {
      env,
      owner: { uid: 65534, gid: 65534 },
    });
    expect(plan).toContain('Inst demo [1.0-1] (1.1-1 ');
  });

  test.runIf(asRoot)('is made by an ordinary user without network, too', async () => {
    using dir = tmpDir();
    chmodSync(dir.path, 0o777);
    const drop = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
    await runTool('unshare', ['-n', ...drop, process.execPath, '-e', makeIn(dir.path, 'mine')]);
    expect(statSync(join(dir.path, 'mine', 'apt.conf')).uid).toBe(65534);
  });
});

async function withHost(options: AptHostOptions, body: (host: AptHost) => Promise<void>): Promise<void> {
  using dir = tmpDir();
  const host = await createAptHost(dir.path, options);
  try {
    await body(host);
  } finally {
    await host.stop();
  }
}

const simulate = (host: AptHost, ...args: string[]) =>
  runTool('apt-get', ['-s', 'install', ...args], { env: host.env });
const install = (host: AptHost, ...args: string[]) =>
  runTool('apt-get', ['-y', 'install', ...args], { env: host.env });

/** A program that makes a host in `dir`, upgrades it and rolls it back. */
function makeIn(dir: string, name = '.'): string {
  const load = (file: string) =>
    `await import(${JSON.stringify(fileURLToPath(new URL(file, import.meta.url)))})`;
  return `(async () => {
    const { createAptHost } = ${load('./apt-host.ts')};
    const { runTool } = ${load('./run-tool.ts')};
    const dir = ${JSON.stringify(join(dir, name))};
    await (await import('node:fs/promises')).mkdir(dir, { recursive: true });
    const host = await createAptHost(dir);
    await runTool('apt-get', ['-y', 'install', 'demo'], { env: host.env });
    if ((await host.installed()).get('demo') !== '1.1-1') throw new Error('not upgraded');
    await host.rollBack();
  })();`;
}
