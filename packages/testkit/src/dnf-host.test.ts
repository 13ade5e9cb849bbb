import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDnfHost, type DnfHost, dnfHostMissing } from './dnf-host.ts';
import { DNF_DEMO, DNF_SIDE_BY_SIDE } from './dnf-packages.ts';
import { runTool } from './run-tool.ts';
import { tmpDir } from './tmp.ts';

const missing = dnfHostMissing();
if (missing !== null) console.log(`skipped: a dnf host: ${missing}`);

const OLD = ['demo 1:1.0-1.el9', 'libdemo 0:1.0-1.el9', ...[1, 2, 3].map((v) => `parallel 0:${v}.0-1`)];

describe.skipIf(missing !== null)('a dnf host', () => {
  const dir = tmpDir('tidegate-dnf-host-');
  let host: DnfHost;
  beforeAll(async () => {
    host = await createDnfHost(dir.path, { packages: [DNF_DEMO, DNF_SIDE_BY_SIDE], transport: 'http' });
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  test('has the old versions, by dnf over http, and none of this machine', async () => {
    expect(await host.installed()).toEqual(OLD);
    expect(host.fetched.some((path) => path.endsWith('/demo-1.0-1.el9.noarch.rpm'))).toBe(true);
  });

  test('offers packages that are signed, of a source with another name', async () => {
    const format = '%{SOURCERPM} %{EPOCHNUM} %{RSAHEADER:pgpsig}';
    const shown = await runTool('rpm', [
      '-qp',
      '--nosignature',
      '--qf',
      format,
      host.rpmPath('demo', '1:1.1-1.el9'),
    ]);
    expect(shown).toMatch(/^demo-src-1\.1-1\.el9\.src\.rpm 1 RSA\/SHA/);
  });

  test('offers metadata that are signed and name the advisory', async () => {
    const repodata = join(host.repositories.folder, 'appstream/repodata');
    const verify = ['--batch', '--verify', join(repodata, 'repomd.xml.asc'), join(repodata, 'repomd.xml')];
    await runTool('gpg', verify, { env: host.signer.env });
    expect(await readFile(join(repodata, 'repomd.xml'), 'utf8')).toContain('updateinfo');
  });

  test('is rolled back to what it was made with', async () => {
    const database = ['--root', host.root, '--dbpath', '/var/lib/rpm'];
    await runTool('rpm', [...database, '-U', host.rpmPath('libdemo', '0:1.0-2.el9')]);
    expect(await host.installed()).toContain('libdemo 0:1.0-2.el9');
    expect(await readFile(join(host.root, 'trace'), 'utf8')).toBe('libdemo 1.0-2.el9\n');
    await host.rollBack();
    expect(await host.installed()).toEqual(OLD);
  });
});
