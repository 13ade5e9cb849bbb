import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { inverseOf } from '@tidegate/protocol/rollbacks';
import { type AptHost, aptHostMissing, createAptHost } from '@tidegate/testkit/apt-host';
import { DEMO, NEW_DEPENDENCY, REMOVAL } from '@tidegate/testkit/apt-packages';
import { doOnce } from '@tidegate/testkit/do-once';
import { keepOriginal } from '@tidegate/testkit/keep-original';
import { firstOf, isLong } from '@tidegate/testkit/lanes';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keepWayBack } from '../commands/keep-way-back.ts';
import { aptDriver } from '../ecosystems/apt/apt.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { openKept } from '../ecosystems/kept-files.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import { aptInstaller } from './apt.ts';

const missing = aptHostMissing();
if (missing !== null) console.log(`skipped: rollbacks of apt on a real host: ${missing}`);

const NOW_MS = Date.parse('2026-11-01T12:00:00Z');
/** An epoch and a `+`, which apt escapes in names of files. */
const PLUS = {
  installed: [{ name: 'plus', version: '1:1.0+' }],
  offered: [{ name: 'plus', version: '1:2.0+' }],
};

describe.skipIf(missing !== null)('rollbacks of apt on a real host', () => {
  const dir = tmpDir('tidegate-apt-rollback-');
  /** The archive, the host, and what its agent keeps. */
  const folder = join(dir.path, 'host');
  let host: AptHost;
  let paths: HostPaths;
  let restore: () => Promise<void>;
  let warnings: string[];

  beforeAll(async () => {
    chmodSync(dir.path, 0o755); // apt reads it as a user of its own
    mkdirSync(folder);
    host = await createAptHost(folder, { packages: [DEMO, NEW_DEPENDENCY, REMOVAL, PLUS] });
    paths = hostPaths({ apt_config: host.aptConf }, join(folder, 'kept'));
    restore = await keepOriginal(folder);
  });
  beforeEach(async () => {
    await restore();
    warnings = [];
  });
  afterAll(async () => {
    await host.stop();
    dir.remove();
  });

  const warn = (_: string, fields?: object) => warnings.push(JSON.stringify(fields));
  const log = { debug: () => {}, info: () => {}, warn, error: warn };

  async function planOf(name: string, toVersion: string, undo?: readonly PlanAction[]) {
    const request = { updates: [{ name, toVersion }], ...(undo && { undo: inverseOf(undo) }) };
    const outcome = await aptDriver.plan(paths, request);
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan.actions;
  }

  /** Fetches as the agent does, and installs as root does. */
  async function carryOut(name: string, toVersion: string, actions: readonly PlanAction[]) {
    const stage = mkdtempSync(join(dir.path, 'stage-'));
    const fetched = await aptDriver.fetch(paths, { actions, directory: stage });
    if (!fetched.ok) throw new Error(fetched.reason);
    const means = { drivers: [aptDriver], paths, log, nowMs: () => NOW_MS };
    const wayBack = await keepWayBack(means, { ecosystem: 'apt', actions: [...actions] }, stage);
    const approval = approvalOf({ ecosystem: 'apt', name, toVersion, actions });
    const outcome = await install(aptInstaller, { paths, stage, approval });
    return { outcome, wayBack };
  }

  const updateOnce = doOnce(
    () => [folder],
    async (name: string, toVersion: string) => {
      const actions = await planOf(name, toVersion);
      const done = await carryOut(name, toVersion, actions);
      expect(done.outcome).toMatchObject({ ok: true });
      return { actions, ...done };
    },
  );

  /** Installs an update, and lets the archive forget every earlier version. */
  async function update(name: string, toVersion: string, forget: { name: string; version: string }[]) {
    const done = await updateOnce(name, toVersion);
    await host.withdraw(...forget);
    return done;
  }

  const OLD_DEMO = [
    { name: 'demo', version: '1.0-1' },
    { name: 'libdemo', version: '1.0-1' },
  ];

  test('a plan names the replaced files that an archive has, and only those', async () => {
    const before = await planOf('demo', '1.1-1');
    const file = readFileSync(host.debPath('demo', '1.0-1'));
    expect(before.map(({ name, back }) => [name, back?.size_bytes])).toEqual([
      ['demo', file.length],
      ['libdemo', readFileSync(host.debPath('libdemo', '1.0-1')).length],
    ]);
    await host.withdraw({ name: 'demo', version: '1.0-1' });
    const after = await planOf('demo', '1.1-1');
    expect(after.map(({ name, back }) => [name, back !== undefined])).toEqual([
      ['demo', false],
      ['libdemo', true],
    ]);
  });

  test.each(
    firstOf(2, [
      ['demo', '1.1-1', '1.0-1', OLD_DEMO, { demo: '1.0-1', libdemo: '1.0-1' }],
      [
        'growing',
        '2.0-1',
        '1.0-1',
        [{ name: 'growing', version: '1.0-1' }],
        { growing: '1.0-1', libgrowing: undefined },
      ],
      [
        'ousting',
        '1:2.0-1',
        '1:1.0-1',
        [
          { name: 'ousting', version: '1:1.0-1' },
          { name: 'ousted', version: '1.0-1' },
        ],
        { ousting: '1:1.0-1', ousted: '1.0-1' },
      ],
      ['plus', '1:2.0+', '1:1.0+', [{ name: 'plus', version: '1:1.0+' }], { plus: '1:1.0+' }],
    ]),
  )(
    '%s %s is undone to %s from kept files that no archive has any more, and nothing else changes',
    async (name, version, old, forget, expected) => {
      const before = await host.installed();
      const { actions, wayBack } = await update(name, version, forget);
      const replaced = actions.filter(({ from_version: from }) => from !== undefined).length;
      expect(wayBack).toEqual({ kept: replaced, replaced });
      const undo = await planOf(name, old, actions);
      const { outcome } = await carryOut(name, old, undo);
      expect(outcome).toMatchObject({ ok: true });
      const after = await host.installed();
      expect(Object.fromEntries(Object.keys(expected).map((each) => [each, after.get(each)]))).toEqual(
        expected,
      );
      expect(after).toEqual(before);
      expect(readFileSync(join(host.root, 'usr/share', name, 'version'), 'utf8')).toBe(`${old}\n`);
      expect(warnings).toEqual([]);
    },
  );

  test('a kept file with one other byte is no plan, and is not handed to root', async () => {
    const { actions } = await update('demo', '1.1-1', OLD_DEMO);
    const undo = await planOf('demo', '1.0-1', actions);
    const kept = openKept(paths.kept).find({ ecosystem: 'apt', name: 'demo', arch: 'all', version: '1.0-1' });
    const bytes = readFileSync(kept?.path ?? '');
    bytes[1_000] = (bytes[1_000] ?? 0) ^ 1;
    writeFileSync(kept?.path ?? '', bytes);
    await expect(carryOut('demo', '1.0-1', undo)).rejects.toThrow('artifact_mismatch: demo');
    await expect(planOf('demo', '1.0-1', actions)).rejects.toThrow(
      'neither this host nor its archives have the file of demo 1.0-1',
    );
    expect((await host.installed()).get('demo')).toBe('1.1-1');
  });

  test('without a kept file the archives bring the old version, as long as they have it', async () => {
    const { actions } = await update('demo', '1.1-1', []);
    rmSync(paths.kept ?? '', { recursive: true });
    const undo = await planOf('demo', '1.0-1', actions);
    expect(undo.map(({ action, name, source_name }) => [action, name, source_name])).toEqual([
      ['downgrade', 'demo', 'demo-src'],
      ['downgrade', 'libdemo', 'demo-src'],
    ]);
    await carryOut('demo', '1.0-1', undo);
    expect((await host.installed()).get('demo')).toBe('1.0-1');
  });

  test('a host that has moved on is not taken back behind what came later', async () => {
    const { actions } = await update('demo', '1.1-1', []);
    await host.publish({ name: 'libdemo', version: '1.2-1' });
    await runTool('apt-get', ['-y', 'install', 'libdemo=1.2-1'], { env: host.env });
    await expect(planOf('demo', '1.0-1', actions)).rejects.toThrow(
      'more than undo the installation: downgrade libdemo:all from 1.2-1 to 1.0-1',
    );
  });

  test('a rollback never removes more than the installation brought', async () => {
    const { actions } = await update('growing', '2.0-1', []);
    await host.publish({ name: 'rider', version: '1.0', depends: 'libgrowing' });
    await runTool('apt-get', ['-y', 'install', 'rider'], { env: host.env });
    await expect(planOf('growing', '1.0-1', actions)).rejects.toThrow('remove rider:all from 1.0');
    expect((await host.installed()).get('rider')).toBe('1.0');
  });

  test('an installation goes on without a way back, and says so', async () => {
    const actions = await planOf('demo', '1.1-1');
    await host.withdraw(...OLD_DEMO);
    const { outcome, wayBack } = await carryOut('demo', '1.1-1', actions);
    expect(outcome).toMatchObject({ ok: true });
    expect(wayBack).toEqual({ kept: 0, replaced: 2 });
    expect(existsSync(paths.kept ?? '')).toBe(true);
  });

  if (isLong) {
    test('what was installed before by an approval is kept too, so the next update has a way back', async () => {
      await update('demo', '1.1-1', OLD_DEMO);
      await host.publish({ name: 'demo', version: '2.0-1', depends: 'libdemo' });
      await host.withdraw({ name: 'demo', version: '1.1-1' });
      const next = await planOf('demo', '2.0-1');
      expect(next.map(({ name, back }) => [name, back !== undefined])).toEqual([['demo', true]]);
      await carryOut('demo', '2.0-1', next);
      await carryOut('demo', '1.1-1', await planOf('demo', '1.1-1', next));
      expect((await host.installed()).get('demo')).toBe('1.1-1');
    });

    test('what is undone already is left out of the plan', async () => {
      const { actions } = await update('demo', '1.1-1', []);
      await host.publish({ name: 'demo', version: '1.0-1', depends: 'libdemo' });
      const own = host.debPath('demo', '1.0-1');
      await host.dpkg('--force-downgrade', '--force-depends', '--install', own);
      await expect(planOf('demo', '1.0-1', actions)).rejects.toThrow('demo 1.0-1 is there already');
      const undo = await planOf('libdemo', '1.0-1', actions);
      expect(undo.map(({ name }) => name)).toEqual(['libdemo']);
    });
  }
});
