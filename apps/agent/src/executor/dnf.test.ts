import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { canMount } from '@tidegate/testkit/can-mount';
import { createDnfHost, type DnfHost, dnfHostMissing } from '@tidegate/testkit/dnf-host';
import {
  DNF_DEMO,
  DNF_FAILING,
  DNF_NEW_DEPENDENCY,
  DNF_OBSOLETING,
  DNF_REMOVAL,
  DNF_SIDE_BY_SIDE,
  type DnfPackage,
} from '@tidegate/testkit/dnf-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dnfDriver } from '../ecosystems/dnf/dnf.ts';
import { findDnfPlaces } from '../ecosystems/dnf/places.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install, installHearing, simulate } from '../testing/install.ts';
import { stageOnce } from '../testing/stage-once.ts';
import { dnfInstaller, dnfInstallerOf } from './dnf.ts';

const missing = dnfHostMissing();
if (missing !== null) console.log(`skipped: the installer of dnf on a real host: ${missing}`);

const BULKY = {
  installed: [{ name: 'bulky', version: '1.0', release: '1' }],
  offered: [{ name: 'bulky', version: '2.0', release: '1', bulkMib: 16 }],
};

describe.skipIf(missing !== null)('the installer of dnf on a real host', () => {
  const dir = tmpDir('tidegate-dnf-installer-');
  let host: DnfHost;
  let paths: HostPaths;
  let original: string[];

  beforeAll(async () => {
    const sets = [DNF_DEMO, DNF_FAILING, DNF_NEW_DEPENDENCY, DNF_REMOVAL, DNF_OBSOLETING, DNF_SIDE_BY_SIDE];
    host = await createDnfHost(dir.path, { packages: [...sets, BULKY] });
    paths = hostPaths({ dnf_root: host.root });
    original = await host.installed();
  });
  beforeEach(() => host.rollBack());
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const staged = stageOnce(dir.path, dnfDriver);

  /** Plans, approves and stages an update as the agent would. */
  async function prepare(name: string, toVersion: string) {
    const { stage, actions } = await staged(paths, { name, toVersion });
    return { paths, stage, actions, approval: approve(actions, { name, toVersion }) };
  }

  const unchanged = async () => expect(await host.installed()).toEqual(original);

  test('the simulation gives the approved plan and changes nothing', async () => {
    const job = await prepare('demo', '1:1.1-1.el9');
    const bare = job.actions.map(
      ({ artifact, source_name, source_version, origin, back, ...action }) => action,
    );
    expect(await simulate(dnfInstaller, job)).toEqual({ ok: true, actions: bare });
    await unchanged();
  });

  test.each([
    [
      'demo',
      '1:1.1-1.el9',
      ['demo 1:1.1-1.el9', 'libdemo 0:1.0-2.el9'],
      ['demo 1:1.0-1.el9', 'libdemo 0:1.0-1.el9'],
    ],
    ['growing', '0:2.0-1', ['growing 0:2.0-1', 'libgrowing 0:2.0-1'], ['growing 0:1.0-1']],
    ['ousting', '0:2.0-1', ['ousting 0:2.0-1'], ['ousting 0:1.0-1', 'ousted 0:1.0-1']],
    ['heir', '0:2.0-1', ['heir 0:2.0-1'], ['heir 0:1.0-1', 'elder 0:1.0-1']],
    ['parallel', '0:4.0-1', ['parallel 0:4.0-1'], ['parallel 0:1.0-1']],
  ])(
    '%s %s is installed from the stage, and what was not approved stays',
    async (name, version, comes, goes) => {
      const outcome = await installHearing(dnfInstaller, await prepare(name, version));
      expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
      expect(outcome.heard).not.toBe('');
      const expected = [...original.filter((line) => !goes.includes(line)), ...comes].sort();
      expect(await host.installed()).toEqual(expected);
      const reported = outcome.ok ? outcome.installed.map((pkg) => `${pkg.name} ${pkg.version}`) : [];
      expect(reported.sort()).toEqual(comes.sort());
    },
  );

  test('scriptlets run once, and their transaction is in the history of dnf', async () => {
    expect(await install(dnfInstaller, await prepare('demo', '1:1.1-1.el9'))).toMatchObject({ ok: true });
    const trace = await readFile(join(host.root, 'trace'), 'utf8');
    expect(trace.trim().split('\n').sort()).toEqual(['demo 1.1-1.el9', 'libdemo 1.0-2.el9']);
    const history = ['-q', `--installroot=${host.root}`, '--setopt=plugins=0', 'history', 'info', 'last'];
    expect(await runTool('dnf-3', history)).toContain('Tidegate');
  });

  test('a rebuilt unsigned package is refused even if its hash is approved', async () => {
    const job = await prepare('libdemo', '0:1.0-2.el9');
    const published = host.rpmPath('libdemo', '0:1.0-2.el9');
    const signed = await readFile(published);
    await host.repositories.add([{ ...offered('libdemo'), content: 'not what was signed' }], {
      isSigned: false,
    });
    await writeFile(join(job.stage, 'libdemo-1.0-2.el9.noarch.rpm'), await readFile(published));
    await writeFile(published, signed);
    const simulated = await simulate(dnfInstaller, job);
    expect(simulated).toMatchObject({ ok: false, reason: 'artifact_unsigned' });
    expect(!simulated.ok && simulated.detail).toContain('GPG check FAILED');
    const outcome = await install(dnfInstaller, job);
    expect(!outcome.ok && outcome.detail).toContain('GPG check FAILED');
    await unchanged();
  });

  test('a package signed by a key unknown to rpm is refused, and the key is not imported', async () => {
    const job = await prepare('libdemo', '0:1.0-2.el9');
    const database = ['--root', host.root, '--dbpath', '/var/lib/rpm'];
    const keys = await runTool('rpm', [...database, '-q', 'gpg-pubkey']);
    await runTool('rpm', [...database, '-e', ...keys.trim().split('\n')]);
    const simulated = await simulate(dnfInstaller, job);
    expect(!simulated.ok && simulated.detail).toMatch(/GPG check FAILED: Public key .* not installed/);
    expect(await runTool('rpm', [...database, '-qa', 'gpg-pubkey'])).toBe('');
  });

  test('a file with one changed byte is refused', async () => {
    const job = await prepare('libdemo', '0:1.0-2.el9');
    const file = join(job.stage, 'libdemo-1.0-2.el9.noarch.rpm');
    const bytes = await readFile(file);
    bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
    await writeFile(file, bytes);
    expect(await install(dnfInstaller, job)).toMatchObject({ ok: false, reason: 'artifact_unsigned' });
    await unchanged();
  });

  test('a plan with fewer, more or other actions than dnf would take is drift, and nothing starts', async () => {
    const job = await prepare('demo', '1:1.1-1.el9');
    const [demo = missingAction, lib = missingAction] = job.actions;
    const extra = (await prepare('heir', '0:2.0-1')).actions;
    const others: PlanAction[][] = [
      [demo],
      [{ ...demo, from_version: '1:0.9-1.el9' }, lib],
      [{ ...demo, action: 'install' }, lib],
      [demo, lib, ...extra], // approved, but its file is not staged
    ];
    for (const actions of others) {
      const approval = approve(actions, { name: 'demo', toVersion: '1:1.1-1.el9' });
      const outcome = await install(dnfInstaller, { ...job, approval });
      expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    }
    await unchanged();
  });

  test('a removal that was not approved is drift', async () => {
    const job = await prepare('ousting', '0:2.0-1');
    const actions = job.actions.filter(({ action }) => action !== 'remove');
    const approval = approve(actions, { name: 'ousting', toVersion: '0:2.0-1' });
    const outcome = await install(dnfInstaller, { ...job, approval });
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    await unchanged();
  });

  test('a host that changed since the approval is drift, and so is one that locked the package', async () => {
    const job = await prepare('demo', '1:1.1-1.el9');
    await writeFile(join(host.root, 'etc/dnf/plugins/versionlock.list'), 'demo-1:1.0-1.el9.*\n');
    expect(await install(dnfInstaller, job)).toMatchObject({ ok: false, reason: 'plan_drift' });
    await unchanged();
    await rm(join(host.root, 'etc/dnf/plugins/versionlock.list'));
    const database = ['--root', host.root, '--dbpath', '/var/lib/rpm'];
    await runTool('rpm', [...database, '-e', '--nodeps', 'libdemo']);
    expect(await install(dnfInstaller, job)).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(await host.installed()).toContain('demo 1:1.0-1.el9');
  });

  test('what another approval has brought is done, and only the rest is run', async () => {
    const job = await prepare('demo', '1:1.1-1.el9');
    const sibling = await prepare('libdemo', '0:1.0-2.el9');
    expect(await install(dnfInstaller, sibling)).toMatchObject({ ok: true });
    const outcome = await installHearing(dnfInstaller, job);
    expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
    expect(outcome.output).toContain('Done before this run: libdemo 0:1.0-2.el9');
    expect(await host.installed()).toContain('demo 1:1.1-1.el9');
    const trace = await readFile(join(host.root, 'trace'), 'utf8');
    expect(trace.trim().split('\n').sort()).toEqual(['demo 1.1-1.el9', 'libdemo 1.0-2.el9']);
    for (const done of [job, sibling]) {
      const again = await install(dnfInstaller, done);
      expect(again).toMatchObject({ ok: true });
      expect(again.output).toContain('Nothing was left to do');
    }
    expect(await readFile(join(host.root, 'trace'), 'utf8')).toBe(trace);
  });

  test('a host that another transaction left in two versions of a package is refused', async () => {
    const job = await prepare('libdemo', '0:1.0-2.el9');
    const database = ['--root', host.root, '--dbpath', '/var/lib/rpm'];
    const newer = host.rpmPath('growing', '0:2.0-1');
    await runTool('rpm', [...database, '-i', '--justdb', '--force', '--nodeps', '--noscripts', newer]);
    const outcome = await install(dnfInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'transaction_interrupted' });
    expect(!outcome.ok && outcome.detail).toContain('two versions: growing');
    expect(await host.installed()).toContain('libdemo 0:1.0-1.el9');
  });

  test.skipIf(!canMount())(
    'an update that does not fit on the disk is refused before anything changes',
    async () => {
      const job = await prepare('bulky', '0:2.0-1');
      const small = join(host.root, 'usr/share/bulky');
      await runTool('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', small]);
      try {
        const outcome = await install(dnfInstaller, job);
        expect(outcome).toMatchObject({ ok: false, reason: 'space_insufficient' });
        expect(!outcome.ok && outcome.detail).toMatch(/\d+MB more space needed on the .*usr\/share\/bulky/);
        await unchanged();
      } finally {
        await runTool('umount', [small]);
      }
      expect(await install(dnfInstaller, job)).toMatchObject({ ok: true });
    },
  );

  test('a lock that another program keeps is refused after the wait', async () => {
    const job = await prepare('libdemo', '0:1.0-2.el9');
    const lock = join(host.root, 'var/lib/rpm/.rpm.lock');
    const script = `import fcntl,sys\nf=open(sys.argv[1],'a')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint('held',flush=True)\nsys.stdin.read()`;
    const holder = spawn('/usr/bin/python3', ['-c', script, lock], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(holder.stdout, 'data');
      const outcome = await install(dnfInstallerOf(findDnfPlaces, 0), job);
      expect(outcome).toMatchObject({ ok: false, reason: 'packages_locked' });
      expect(await dnfDriver.findTrouble?.(paths)).toMatchObject({ reason: 'packages_locked' });
    } finally {
      holder.stdin.end();
      await once(holder, 'exit');
    }
    expect(await install(dnfInstaller, job)).toMatchObject({ ok: true });
  });

  test('removals and installonly packages that are done already are not asked for again', async () => {
    for (const [name, version] of [
      ['ousting', '0:2.0-1'],
      ['heir', '0:2.0-1'],
      ['parallel', '0:4.0-1'],
    ] as const) {
      const job = await prepare(name, version);
      expect(await install(dnfInstaller, job)).toMatchObject({ ok: true });
      const again = await install(dnfInstaller, job);
      expect(again).toMatchObject({ ok: true });
      expect(again.output).toContain('Nothing was left to do');
    }
  });

  test('a file that is missing from the stage is never taken from a repository instead', async () => {
    const job = await prepare('demo', '1:1.1-1.el9');
    await rm(join(job.stage, 'libdemo-1.0-2.el9.noarch.rpm'));
    expect(await install(dnfInstaller, job)).toMatchObject({ ok: false, reason: 'plan_drift' });
    await unchanged();
  });

  test('a failing scriptlet is reported with its output', async () => {
    const outcome = await install(dnfInstaller, await prepare('fragile', '0:1.1-1'));
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed' });
    expect(outcome.output).toContain('fragile');
    await unchanged();
  });

  test('a downgrade happens only if the approval contains it', async () => {
    expect(await install(dnfInstaller, await prepare('libdemo', '0:1.0-2.el9'))).toMatchObject({ ok: true });
    const job = await prepare('libdemo', '0:1.0-1.el9');
    expect(job.actions).toMatchObject([{ action: 'downgrade', from_version: '0:1.0-2.el9' }]);
    const posing = job.actions.map((action) => ({ ...action, action: 'upgrade' as const }));
    const approval = approve(posing, { name: 'libdemo', toVersion: '0:1.0-1.el9' });
    expect(await install(dnfInstaller, { ...job, approval })).toMatchObject({
      ok: false,
      reason: 'plan_drift',
    });
    expect(await install(dnfInstaller, job)).toMatchObject({ ok: true });
    expect(await host.installed()).toContain('libdemo 0:1.0-1.el9');
  });
});

const missingAction: PlanAction = { action: 'remove', name: 'missing' };

function approve(actions: readonly PlanAction[], { name, toVersion }: { name: string; toVersion: string }) {
  return approvalOf({ ecosystem: 'dnf', name, toVersion, actions });
}

function offered(name: string): DnfPackage {
  const pkg = DNF_DEMO.offered.find((candidate) => candidate.name === name);
  if (pkg === undefined) throw new RangeError(`${name} is not offered`);
  return pkg;
}
