import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { dpkgOptions } from '@tidegate/testkit/apt-host-files';
import { DEMO, FAILING, NEW_DEPENDENCY, REMOVAL } from '@tidegate/testkit/apt-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install, installHearing, simulate } from '../testing/install.ts';
import { stageOnce } from '../testing/stage-once.ts';
import type { VerifiedApproval } from '../trust/verify-approval.ts';
import { aptInstaller } from './apt.ts';

const missing = aptHostMissing();
if (missing !== null) console.log(`skipped: the installer of apt on a real host: ${missing}`);

describe.skipIf(missing !== null)('the installer of apt on a real host', () => {
  const dir = tmpDir('tidegate-apt-installer-');
  let host: AptHost;
  let paths: HostPaths;

  beforeAll(async () => {
    const plus = {
      installed: [{ name: 'plus', version: '1.0' }],
      offered: [{ name: 'plus', version: '1:2.0+' }],
    };
    host = await createAptHost(dir.path, { packages: [DEMO, FAILING, NEW_DEPENDENCY, REMOVAL, plus] });
    paths = hostPaths({ apt_config: host.aptConf });
  });
  beforeEach(() => host.rollBack());
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const staged = stageOnce(dir.path, aptDriver);

  /** Plans, approves and stages an update as the agent would. */
  async function prepare(name: string, toVersion: string) {
    const { stage, actions } = await staged(paths, { name, toVersion });
    return { paths, stage, actions, approval: approve(actions, { name, toVersion }) };
  }

  const unchanged = async () =>
    expect(await host.installed()).toEqual(
      new Map([
        ...[...DEMO.installed, ...FAILING.installed, ...NEW_DEPENDENCY.installed, ...REMOVAL.installed].map(
          ({ name, version }) => [name, version] as const,
        ),
        ['plus', '1.0'] as const,
      ]),
    );

  test('the simulation gives the approved plan and changes nothing', async () => {
    const job = await prepare('demo', '1.1-1');
    const simulated = await simulate(aptInstaller, job);
    const bare = job.actions.map(({ artifact, back, source_name, source_version, ...action }) => action);
    expect(simulated).toEqual({ ok: true, actions: bare });
    await unchanged();
  });

  test.each([
    ['demo', '1.1-1', { demo: '1.1-1', libdemo: '1.0-1+deb12u1' }],
    ['growing', '2.0-1', { growing: '2.0-1', libgrowing: '2.0-1' }],
    ['ousting', '1:2.0-1', { ousting: '1:2.0-1', ousted: undefined }],
    ['plus', '1:2.0+', { plus: '1:2.0+' }],
  ])(
    '%s %s is installed from the stage, and what was not approved stays',
    async (name, version, expected) => {
      const job = await prepare(name, version);
      const before = await host.installed();
      const outcome = await installHearing(aptInstaller, job);
      expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
      const after = await host.installed();
      for (const [changed, to] of Object.entries(expected)) expect(after.get(changed)).toBe(to);
      for (const [other, at] of before) if (!(other in expected)) expect(after.get(other)).toBe(at);
      const reported = outcome.ok ? outcome.installed.map((pkg) => [pkg.name, pkg.version]) : [];
      expect(Object.fromEntries(reported)).toEqual(
        Object.fromEntries(Object.entries(expected).filter(([, to]) => to !== undefined)),
      );
      expect(outcome.output).toContain(`Setting up ${name}`);
    },
  );

  test('dependencies stay marked as installed automatically, new ones too', async () => {
    await runTool('apt-mark', ['auto', 'libdemo'], { env: host.env });
    expect(await install(aptInstaller, await prepare('demo', '1.1-1'))).toMatchObject({ ok: true });
    expect(await install(aptInstaller, await prepare('growing', '2.0-1'))).toMatchObject({ ok: true });
    const marks = await runTool('apt-mark', ['showauto'], { env: host.env });
    expect(marks.trim().split('\n').sort()).toEqual(['libdemo', 'libgrowing']);
  });

  test('a plan with fewer, more or other actions than apt would take is drift, and nothing starts', async () => {
    const job = await prepare('demo', '1.1-1');
    const [demo = missingAction, lib = missingAction] = job.actions;
    const extra = (await prepare('fragile', '1.1-1')).actions;
    const others: PlanAction[][] = [
      [demo],
      [{ ...demo, from_version: '0.9-1' }, lib],
      [{ ...demo, action: 'install' }, lib],
      [demo, lib, ...extra], // approved, but its file is not staged
    ];
    for (const actions of others) {
      const approval = approve(actions, { name: 'demo', toVersion: '1.1-1' });
      expect(await install(aptInstaller, { ...job, approval })).toMatchObject({
        ok: false,
        reason: 'plan_drift',
      });
    }
    await unchanged();
  });

  test('a removal that was not approved is drift', async () => {
    const job = await prepare('ousting', '1:2.0-1');
    const actions = job.actions.filter(({ action }) => action !== 'remove');
    const approval = approve(actions, { name: 'ousting', toVersion: '1:2.0-1' });
    const outcome = await install(aptInstaller, { ...job, approval });
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(!outcome.ok && outcome.detail).toContain('remove is disabled'); // by apt itself, ahead of our comparison
    await unchanged();
  });

  test('what another approval has brought is done, and only the rest is run', async () => {
    await runTool('apt-mark', ['auto', 'libdemo'], { env: host.env });
    const job = await prepare('demo', '1.1-1');
    const sibling = await prepare('libdemo', '1.0-1+deb12u1');
    expect(await install(aptInstaller, sibling)).toMatchObject({ ok: true });
    await runTool('apt-mark', ['auto', 'libdemo'], { env: host.env });
    const outcome = await installHearing(aptInstaller, job);
    expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
    expect(outcome.ok && outcome.installed.map(({ name, version }) => [name, version]).sort()).toEqual([
      ['demo', '1.1-1'],
      ['libdemo', '1.0-1+deb12u1'],
    ]);
    expect(outcome.output).toContain('Setting up demo');
    expect(outcome.output).not.toContain('Setting up libdemo');
    expect(outcome.output).toContain('Done before this run: libdemo 1.0-1+deb12u1');
    expect(await runTool('apt-mark', ['showauto'], { env: host.env })).toBe('libdemo\n');
  });

  test('an approval of which everything is done succeeds without running apt', async () => {
    const [job, removing] = [await prepare('libdemo', '1.0-1+deb12u1'), await prepare('ousting', '1:2.0-1')];
    expect(await install(aptInstaller, await prepare('demo', '1.1-1'))).toMatchObject({ ok: true });
    expect(await install(aptInstaller, removing)).toMatchObject({ ok: true });
    const log = async () => readFile(join(host.root, 'var/log/dpkg.log'), 'utf8').catch(() => '');
    const before = await log();
    for (const done of [job, removing]) {
      const outcome = await installHearing(aptInstaller, done);
      expect(outcome).toMatchObject({ ok: true, heard: outcome.output });
      expect(outcome.output).toContain('Nothing was left to do');
    }
    expect(await log()).toBe(before);
  });

  test('a reached removal is not asked for again, even if apt no longer knows the package', async () => {
    const job = await prepare('ousting', '1:2.0-1');
    await runTool('dpkg', [...dpkgOptions(host.root), '--purge', 'ousted'], { env: host.env });
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
    expect((await host.installed()).get('ousting')).toBe('1:2.0-1');
  });

  test('a host that changed otherwise since the approval is drift', async () => {
    const job = await prepare('demo', '1.1-1');
    const purge = ['--force-depends', '--purge', 'libdemo'];
    await runTool('dpkg', [...dpkgOptions(host.root), ...purge], { env: host.env });
    const outcome = await install(aptInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect((await host.installed()).get('demo')).toBe('1.0-1');
  });

  test('a file that is missing or of another size in the stage is never taken from the archive instead', async () => {
    const job = await prepare('demo', '1.1-1');
    const file = join(job.stage, 'libdemo_1.0-1+deb12u1_all.deb');
    await appendFile(file, 'x');
    expect(await install(aptInstaller, job)).toMatchObject({ ok: false, reason: 'plan_drift' });
    await rm(file, { force: true });
    const outcome = await install(aptInstaller, job);
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(!outcome.ok && outcome.detail).toContain('not staged');
    await unchanged();
  });

  test('a failing maintainer script is reported with its output', async () => {
    const outcome = await install(aptInstaller, await prepare('fragile', '1.1-1'));
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed', exitCode: 100 });
    expect(outcome.output).toContain('fragile cannot be set up');
  });

  test('a downgrade happens only if the approval contains it', async () => {
    expect(await install(aptInstaller, await prepare('libdemo', '1.0-1+deb12u1'))).toMatchObject({
      ok: true,
    });
    const job = await prepare('libdemo', '1.0-1');
    expect(job.actions).toMatchObject([{ action: 'downgrade', from_version: '1.0-1+deb12u1' }]);
    const posing = job.actions.map((action) => ({ ...action, action: 'upgrade' as const }));
    const approval = approve(posing, { name: 'libdemo', toVersion: '1.0-1' });
    const outcome = await install(aptInstaller, { ...job, approval });
    expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(!outcome.ok && outcome.detail).toContain('without --allow-downgrades');
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
    expect((await host.installed()).get('libdemo')).toBe('1.0-1');
  });

  test('a package that dpkg did not change is a failure although apt reports success', async () => {
    const job = await prepare('libdemo', '1.0-1+deb12u1');
    const conf = await readFile(host.aptConf, 'utf8');
    await writeFile(host.aptConf, `${conf}\nDir::Bin::dpkg "/bin/true";\n`);
    const outcome = await install(aptInstaller, job);
    await writeFile(host.aptConf, conf);
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed' });
  });
});

const missingAction: PlanAction = { action: 'remove', name: 'missing' };
/** A verified approval of these actions: there is no other way to get one (A4). */
function approve(actions: PlanAction[], target: { name: string; toVersion: string }): VerifiedApproval {
  return approvalOf({ ecosystem: 'apt', actions, ...target });
}
