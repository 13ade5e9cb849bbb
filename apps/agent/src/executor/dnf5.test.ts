import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlanAction } from '@tidegate/protocol/plan';
import { createDnfHost, type DnfHost, dnfHostMissing } from '@tidegate/testkit/dnf-host';
import { DNF_DEMO } from '@tidegate/testkit/dnf-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dnfDriver } from '../ecosystems/dnf/dnf.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install, installHearing, simulate } from '../testing/install.ts';
import { stageOnce } from '../testing/stage-once.ts';
import { dnfInstallerOf } from './dnf.ts';

const missing = dnfHostMissing();
if (missing !== null) console.log(`skipped: the installer of dnf 5: ${missing}`);

const RECORDED = fileURLToPath(new URL('../testing/recorded-dnf5', import.meta.url));
const at = (name: string, version: string, release: string, more: object = {}) => ({
  ...{ name, version, release, source: 'demo-src', repo: '@commandline' },
  ...more,
});
const LIB = at('libdemo', '1.0', '2.el9');
const LIB_BEFORE = at('libdemo', '1.0', '1.el9');
const DEMO = at('demo', '1.1', '1.el9', { epoch: '1' });
const DEMO_BEFORE = at('demo', '1.0', '1.el9', { epoch: '1' });
const APPROVED = [
  ['Upgrade', DEMO],
  ['Replaced', DEMO_BEFORE],
  ['Upgrade', LIB],
  ['Replaced', LIB_BEFORE],
];
const OTHER = at('other', '3.0', '1');
const BESIDE = { installed: [{ name: 'other', version: '3.0', release: '1' }], offered: [] };

/** libdnf5 answers as its documentation says (it has not run on a real host); rpm, its keys and its database are real. */
describe.skipIf(missing !== null)('the installer of dnf 5, with recorded answers', () => {
  const dir = tmpDir('tidegate-dnf5-installer-');
  let host: DnfHost;
  let paths: HostPaths;
  let original: string[];
  beforeAll(async () => {
    host = await createDnfHost(dir.path, { packages: [DNF_DEMO, BESIDE] });
    paths = hostPaths({ dnf_root: host.root });
    original = await host.installed();
  });
  beforeEach(() => host.rollBack());
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  /** A host of dnf 5 whose module tells of `world`. */
  async function openHost(world: object = {}) {
    const folder = await mkdtemp(join(dir.path, 'world-'));
    const [worldFile, calls, python] = [join(folder, 'world'), join(folder, 'calls'), join(folder, 'python')];
    const known = { root: host.root, packages: [], transaction: APPROVED, calls };
    writeFileSync(worldFile, JSON.stringify({ ...known, ...world }));
    const start = `import sys; sys.path.insert(0, ${JSON.stringify(RECORDED)})`;
    // As the session asks: -I -B -c PROGRAM REQUEST.
    const script = `#!/bin/sh\nexport RECORDED_WORLD='${worldFile}'\nexec python3 "$1" "$2" "$3" '${start}\n'"$4" "$5"\n`;
    writeFileSync(python, script, { mode: 0o755 });
    const database = join(host.root, 'var/lib/rpm');
    const value = { root: host.root, flavour: 'dnf5' as const, python, database };
    return {
      installer: dnfInstallerOf(async () => ({ ok: true, value })),
      called: (): unknown[] =>
        !existsSync(calls)
          ? []
          : readFileSync(calls, 'utf8')
              .trim()
              .split('\n')
              .map((line) => JSON.parse(line)),
    };
  }

  const target = { name: 'demo', toVersion: '1:1.1-1.el9' };
  /** Planned and fetched by dnf 4, which is real; a plan says the same of both. */
  const staged = stageOnce(dir.path, dnfDriver);

  async function prepare(change = (actions: PlanAction[]) => actions) {
    const { stage, actions: planned } = await staged(paths, target);
    const actions = change(planned);
    return { paths, stage, actions, approval: approvalOf({ ecosystem: 'dnf', ...target, actions }) };
  }

  const files = (stage: string) => [
    ...[join(stage, 'demo-1.1-1.el9.noarch.rpm'), join(stage, 'libdemo-1.0-2.el9.noarch.rpm')],
  ];
  /** What is asked of libdnf5 to resolve the stage: the system alone, each file, and no leave to remove. */
  const resolving = (work: string, stage: string) => [
    [work, 'setup', { localpkg_gpgcheck: true }],
    [work, 'load', 1],
    ...files(stage).map((file) => [work, 'add', file]),
    [work, 'erasing', false],
  ];

  test('the simulation is the approved plan of the staged files; no repository is read, nothing is run', async () => {
    const { installer, called } = await openHost();
    const job = await prepare();
    const bare = job.actions.map(
      ({ artifact, source_name, source_version, origin, back, ...action }) => action,
    );
    expect(await simulate(installer, job)).toEqual({ ok: true, actions: bare });
    expect(called()).toEqual(resolving('simulate', job.stage));
    expect(await host.installed()).toEqual(original);
  });

  test('an approved transaction is resolved again, run once, and compared with the rpm database', async () => {
    const { installer, called } = await openHost();
    const job = await prepare();
    const outcome = await installHearing(installer, job);
    expect(outcome).toMatchObject({
      ok: true,
      heard: outcome.output,
      installed: [
        { name: 'demo', version: '1:1.1-1.el9', arch: 'noarch' },
        { name: 'libdemo', version: '0:1.0-2.el9', arch: 'noarch' },
      ],
    });
    expect(called()).toEqual([
      ...resolving('simulate', job.stage),
      ...resolving('install', job.stage),
      ...[
        ['install', 'describe', 'Tidegate'],
        ['install', 'run'],
      ],
    ]);
    const now = await host.installed();
    expect(now).toEqual(expect.arrayContaining(['demo 1:1.1-1.el9', 'libdemo 0:1.0-2.el9']));
    expect(now).toHaveLength(original.length);
  });

  test.each<[string, unknown[]]>([
    ['more', [...APPROVED, ['Install', OTHER]]],
    ['fewer', APPROVED.slice(0, 2)],
    ['others', [['Upgrade', { ...DEMO, version: '1.2' }], ...APPROVED.slice(1)]],
    [
      'other ones before',
      [APPROVED[0], ['Replaced', { ...DEMO_BEFORE, version: '0.9' }], ...APPROVED.slice(2)],
    ],
    ['a downgrade', [['Downgrade', { ...DEMO, version: '0.1' }], ...APPROVED.slice(1)]],
    ['a removal', [...APPROVED, ['Remove', OTHER]]],
  ])(
    'a transaction of %s than approved is drift when it is simulated, and is not run',
    async (_what, transaction) => {
      const { installer, called } = await openHost({ transaction });
      expect(await install(installer, await prepare())).toMatchObject({ ok: false, reason: 'plan_drift' });
      expect(called().flat()).not.toContain('install');
      expect(await host.installed()).toEqual(original);
    },
  );

  test.each<[string, unknown[]]>([
    ['more', [...APPROVED, ['Install', OTHER]]],
    ['fewer', APPROVED.slice(0, 2)],
    ['others', [['Upgrade', { ...DEMO, version: '1.2' }], ...APPROVED.slice(1)]],
  ])(
    'a transaction that became one of %s after the simulation is drift, and is not run',
    async (_what, later) => {
      const { installer, called } = await openHost({ transaction_of: { install: later } });
      const outcome = await install(installer, await prepare());
      expect(outcome).toMatchObject({ ok: false, reason: 'plan_drift' });
      expect(!outcome.ok && outcome.detail).toContain('the transaction is not the approved one');
      expect(called()).not.toContainEqual(expect.arrayContaining(['run']));
      expect(await host.installed()).toEqual(original);
    },
  );

  test('removals are allowed only if the approval contains one', async () => {
    const { installer, called } = await openHost({ transaction: [...APPROVED, ['Remove', OTHER]] });
    const removal = { action: 'remove' as const, name: 'other', arch: 'noarch', from_version: '0:3.0-1' };
    const job = await prepare((actions) => [...actions, removal]);
    expect(await simulate(installer, job)).toMatchObject({ ok: true });
    expect(called()).toContainEqual(['simulate', 'erasing', true]);
  });

  test('a file that is unsigned, or signed by a key unknown to rpm, is refused before libdnf5 sees it', async () => {
    const job = await prepare();
    const published = host.rpmPath('libdemo', '0:1.0-2.el9');
    const signed = await readFile(published);
    const [offered] = DNF_DEMO.offered;
    if (offered === undefined) throw new Error('nothing is offered');
    await host.repositories.add([{ ...offered, content: 'not what was signed' }], { isSigned: false });
    const [, lib = ''] = files(job.stage);
    await writeFile(lib, await readFile(published));
    await writeFile(published, signed);
    const first = await openHost();
    const simulated = await simulate(first.installer, job);
    expect(simulated).toMatchObject({ ok: false, reason: 'artifact_unsigned' });
    expect(!simulated.ok && simulated.detail).toContain('GPG check FAILED: libdemo-1.0-2.el9.noarch.rpm');
    expect(first.called()).not.toContainEqual(['simulate', 'add', lib]);

    await writeFile(lib, signed);
    const database = ['--root', host.root, '--dbpath', '/var/lib/rpm'];
    const keys = await runTool('rpm', [...database, '-q', 'gpg-pubkey']);
    await runTool('rpm', [...database, '-e', ...keys.trim().split('\n')]);
    const second = await openHost();
    const outcome = await install(second.installer, job);
    expect(!outcome.ok && outcome.detail).toContain('GPG check FAILED');
    expect(second.called()).toEqual(resolving('simulate', job.stage).slice(0, 2));
    expect(await host.installed()).toEqual(original);
  });

  test("the result contains libdnf5's messages about a failed transaction", async () => {
    const { installer } = await openHost({ run_problem: 'file /usr/x conflicts' });
    const outcome = await install(installer, await prepare());
    expect(outcome).toMatchObject({ ok: false, reason: 'install_failed', exitCode: 1 });
    expect(!outcome.ok && outcome.detail).toContain('file /usr/x conflicts');
    expect(await host.installed()).toEqual(original);
  });
});
