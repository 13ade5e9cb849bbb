import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { type AptPackage, HELD } from '@tidegate/testkit/apt-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import { aptInstaller } from './apt.ts';

const missing = aptHostMissing();
if (missing !== null) console.log(`skipped: the packages of a real host: ${missing}`);

const CONFMODULE = '/usr/share/debconf/confmodule';
const COLOUR = `Template: asking/colour
Type: select
Choices: blue, green
Default: green
Description: Which colour?
`;

/** Asks a question that everybody is shown, and notes the answer. */
const askColour = (answer: string) =>
  [
    ...[`. ${CONFMODULE}`, 'db_input critical asking/colour', 'db_go', 'db_get asking/colour'],
    `echo "$RET $DEBIAN_FRONTEND" > ${answer}`,
  ].join('\n');

/** The packages that most often go wrong, small, under their own names and with their own relations. */
describe.skipIf(missing !== null)('the packages of a real host', () => {
  const dir = tmpDir('tidegate-apt-cases-');
  const trace = join(dir.path, 'trace');
  let host: AptHost;
  let paths: HostPaths;

  const kernel = (abi: string, version: string): AptPackage[] => [
    { name: `linux-image-${abi}-amd64`, version, source: 'linux-signed-amd64' },
    ...[{ name: 'linux-image-amd64', version, depends: `linux-image-${abi}-amd64 (= ${version})` }],
  ];
  const libc = (version: string): AptPackage[] => [
    { name: 'libc6', version, source: 'glibc', postinst: `echo "libc6 $2 to ${version}" >> ${trace}` },
    {
      ...{
        name: 'libc-bin',
        version,
        source: 'glibc',
        depends: `libc6 (>= ${version}), libc6 (<< ${version}0)`,
      },
      fields: { Essential: 'yes' },
    },
    { name: 'locales', version, source: 'glibc', fields: { 'Pre-Depends': `libc-bin (>= ${version})` } },
  ];
  const systemd = (version: string): AptPackage[] => [
    {
      ...{ name: 'systemd', version, depends: `libsystemd0 (= ${version})` },
      postinst: `echo "systemd configured for $DEBIAN_FRONTEND" >> ${trace}`,
    },
    { name: 'libsystemd0', version, source: 'systemd' },
    {
      name: 'systemd-sysv',
      version,
      source: 'systemd',
      fields: { 'Pre-Depends': 'systemd' },
      depends: `systemd (= ${version})`,
    },
    { name: 'udev', version, source: 'systemd', depends: 'libsystemd0' },
  ];
  const same = (version: string): AptPackage[] =>
    ['amd64', 'i386'].map((arch) => ({ name: 'libsame', version, arch, fields: { 'Multi-Arch': 'same' } }));

  beforeAll(async () => {
    const one = (name: string, offered: Partial<AptPackage> = {}) => ({
      installed: [{ name, version: '1.0-1' }],
      offered: [{ name, version: '1.1-1', ...offered }],
    });
    host = await createAptHost(dir.path, {
      foreign: ['i386'],
      packages: [
        { installed: kernel('6.1.0-30', '6.1.124-1'), offered: kernel('6.1.0-31', '6.1.128-1') },
        { installed: libc('2.36-9'), offered: libc('2.37-1') },
        { installed: systemd('252.30-1'), offered: systemd('252.33-1') },
        { installed: same('1.0-1'), offered: same('1.1-1') },
        HELD,
        one('needs-held', { depends: 'pinned (>= 2.1-1)' }),
        one('phased', { fields: { 'Phased-Update-Percentage': '10' } }),
        one('released', { fields: { 'Phased-Update-Percentage': '100' } }),
        one('vendored', { archive: 'security' }),
        one('pinned-down'),
        one('vanishing'),
        one('asking', { templates: COLOUR, postinst: askColour(join(dir.path, 'answer')) }),
      ],
    });
    const pins = 'Package: pinned-down\nPin: version 1.0-1\nPin-Priority: 1001\n';
    await writeFile(join(host.root, 'etc/apt/preferences.d/ours'), pins);
    const conf = await readFile(host.aptConf, 'utf8');
    await writeFile(host.aptConf, `${conf}\nAPT::Get::Never-Include-Phased-Updates "true";\n`);
    paths = hostPaths({ apt_config: host.aptConf });
    await mkdir(join(host.root, 'var/cache/debconf'), { recursive: true });
    await copyFile('/etc/debconf.conf', join(host.root, 'etc/debconf.conf'));
  });
  beforeEach(async () => {
    await host.rollBack();
    await rm(trace, { force: true });
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  async function plan(...updates: { name: string; toVersion: string; arch?: string }[]) {
    const outcome = await aptDriver.plan(paths, { updates });
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan.actions;
  }

  async function prepare(name: string, toVersion: string, arch?: string) {
    const actions = await plan({ name, toVersion, ...(arch !== undefined && { arch }) });
    const stage = await mkdtemp(join(dir.path, 'stage-'));
    const fetched = await aptDriver.fetch(paths, { actions, directory: stage });
    if (!fetched.ok) throw new Error(fetched.reason);
    return { paths, stage, actions, approval: approvalOf({ ecosystem: 'apt', name, toVersion, actions }) };
  }

  const brief = ({ action, name, arch, from_version: from = '', to_version: to = '' }: PlanAction) =>
    [action, `${name}:${arch}`, from, to].join(' ');
  const traced = () => readFile(trace, 'utf8').catch(() => '');

  test('the metapackage of the kernel brings the new kernel, and the old one stays to boot from', async () => {
    const job = await prepare('linux-image-amd64', '6.1.128-1');
    expect(job.actions.map(brief)).toEqual([
      'install linux-image-6.1.0-31-amd64:all  6.1.128-1',
      'upgrade linux-image-amd64:all 6.1.124-1 6.1.128-1',
    ]);
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
    const installed = await host.installed();
    expect(installed.get('linux-image-6.1.0-30-amd64')).toBe('6.1.124-1');
    expect(installed.get('linux-image-6.1.0-31-amd64')).toBe('6.1.128-1');
    const automatic = await runTool('apt-mark', ['showauto'], { env: host.env });
    expect(automatic).toBe('linux-image-6.1.0-31-amd64\n');
  });

  test('libc6 with locales in one transaction: libc-bin is set up before locales is unpacked', async () => {
    const job = await prepare('locales', '2.37-1');
    expect(job.actions.map(({ name }) => name)).toEqual(['libc-bin', 'libc6', 'locales']);
    const outcome = await install(aptInstaller, job);
    expect(outcome).toMatchObject({ ok: true });
    const at = (line: string) => outcome.output.indexOf(line);
    expect(at('Setting up libc6')).toBeGreaterThan(0);
    expect(at('Unpacking locales')).toBeGreaterThan(at('Setting up libc-bin'));
  });

  test('systemd comes with its library and init, in one transaction, without questions', async () => {
    const job = await prepare('systemd', '252.33-1');
    expect(job.actions.map(({ name }) => name)).toEqual(['libsystemd0', 'systemd-sysv', 'systemd', 'udev']);
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
    expect(await traced()).toBe('systemd configured for noninteractive\n');
    expect((await host.installed()).get('udev')).toBe('252.33-1');
  });

  test.skipIf(!existsSync(CONFMODULE))(
    'a script that asks through debconf gets the default, and nothing waits for an answer',
    async () => {
      expect(await install(aptInstaller, await prepare('asking', '1.1-1'))).toMatchObject({ ok: true });
      expect(await readFile(join(dir.path, 'answer'), 'utf8')).toBe('green noninteractive\n');
      expect((await host.installed()).get('asking')).toBe('1.1-1');
    },
  );

  test('both architectures of a package move in one transaction, and the approval names both', async () => {
    const job = await prepare('libsame', '1.1-1', 'i386');
    expect(job.actions.map(brief)).toEqual([
      'upgrade libsame:amd64 1.0-1 1.1-1',
      'upgrade libsame:i386 1.0-1 1.1-1',
    ]);
    const half = job.actions.filter(({ arch }) => arch === 'i386');
    const approval = approvalOf({ ecosystem: 'apt', name: 'libsame', toVersion: '1.1-1', actions: half });
    const drifted = await install(aptInstaller, { ...job, approval });
    expect(drifted).toMatchObject({ ok: false, reason: 'plan_drift' });
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
    const query = ['-W', '-f', `\${binary:Package} \${Version}\\n`, 'libsame'];
    expect(await runTool('dpkg-query', query, { env: host.env })).toBe(
      'libsame:amd64 1.1-1\nlibsame:i386 1.1-1\n',
    );
  });

  test('a package from a second repository says where it comes from, and is installed from there', async () => {
    const job = await prepare('vendored', '1.1-1');
    expect(job.actions).toMatchObject([{ origin: 'Debian-Security:12/stable-security' }]);
    expect(await install(aptInstaller, job)).toMatchObject({ ok: true });
  });

  test('a version that the host pins away is not offered', async () => {
    const { updates, complete } = await aptDriver.scan(paths);
    expect(complete).toBe(true);
    expect(updates.map(({ name }) => name)).not.toContain('pinned-down');
    expect(updates.map(({ name }) => name)).toContain('vanishing');
  });

  test.each([
    ['itself', 'pinned', '2.1-1', /^pinned is on hold on this host; to release it: apt-mark unhold pinned$/],
    ['as a dependency', 'needs-held', '1.1-1', /held broken packages.*pinned/],
  ])('a package on hold is never planned, %s, and the reason names it', async (_, name, to, reason) => {
    const outcome = await aptDriver.plan(paths, { updates: [{ name, toVersion: to }] });
    expect(!outcome.ok && outcome.reason).toMatch(reason);
  });

  test('a hold that was set after the approval counts: nothing is installed', async () => {
    const job = await prepare('systemd', '252.33-1');
    await runTool('dpkg', ['--admindir', host.adminDir, '--set-selections'], {
      env: host.env,
      input: 'libsystemd0 hold\n',
    });
    const outcome = await install(aptInstaller, job);
    expect(outcome).toMatchObject({
      ...{ ok: false, reason: 'package_held' },
      detail: 'libsystemd0 is on hold on this host; to release it: apt-mark unhold libsystemd0',
    });
    expect((await host.installed()).get('systemd')).toBe('252.30-1');
  });

  test('a phased update is not planned, and the reason says its percentage', async () => {
    const outcome = await aptDriver.plan(paths, { updates: [{ name: 'phased', toVersion: '1.1-1' }] });
    expect(!outcome.ok && outcome.reason).toBe(
      'phased 1.1-1 is a phased update: it is offered to 10 % of hosts so far, and not yet to this one',
    );
    expect(await plan({ name: 'released', toVersion: '1.1-1' })).toHaveLength(1);
  });

  test.each(['its file', 'its entry'])(
    'a package that disappears from the repository after the approval (%s) cannot be fetched, and is named',
    async (what) => {
      const actions = await plan({ name: 'vanishing', toVersion: '1.1-1' });
      const deb = host.debPath('vanishing', '1.1-1');
      const bytes = await readFile(deb);
      await rm(deb);
      if (what === 'its entry') await host.publish();
      const directory = await mkdtemp(join(dir.path, 'stage-'));
      const outcome = await aptDriver.fetch(paths, { actions, directory });
      await writeFile(deb, bytes);
      await host.publish();
      expect(!outcome.ok && outcome.reason).toContain('vanishing');
      expect(!outcome.ok && outcome.reason).not.toContain('artifact_mismatch');
    },
  );
});
