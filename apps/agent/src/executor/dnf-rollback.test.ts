import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { inverseOf } from '@tidegate/protocol/rollbacks';
import { createDnfHost, type DnfHost, dnfHostMissing } from '@tidegate/testkit/dnf-host';
import {
  DNF_DEMO,
  DNF_NEW_DEPENDENCY,
  DNF_OBSOLETING,
  DNF_REMOVAL,
  DNF_SIDE_BY_SIDE,
  type DnfPackage,
  type DnfSet,
} from '@tidegate/testkit/dnf-packages';
import { doOnce } from '@tidegate/testkit/do-once';
import { firstOf, isLong } from '@tidegate/testkit/lanes';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keepWayBack } from '../commands/keep-way-back.ts';
import { dnfDriver } from '../ecosystems/dnf/dnf.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { hostPaths } from '../ecosystems/host-places.ts';
import { openKept } from '../ecosystems/kept-files.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import { dnfInstaller } from './dnf.ts';

const missing = dnfHostMissing();
if (missing !== null) console.log(`skipped: rollbacks of dnf on a real host: ${missing}`);

const NOW_MS = Date.parse('2026-11-01T12:00:00Z');

/** An update of its own for a test: the repositories are not put back between tests. */
function updateOf(name: string, more: Partial<DnfPackage> = {}): DnfSet {
  return {
    installed: [{ name, version: '1.0', release: '1', ...more }],
    offered: [{ name, version: '2.0', release: '1', ...more }],
  };
}

/** An update with a new dependency, for a test of its own. */
function growthOf(name: string): DnfSet {
  return {
    installed: [{ name, version: '1.0', release: '1' }],
    offered: [
      { name, version: '2.0', release: '1', requires: [`lib${name}`] },
      { name: `lib${name}`, version: '2.0', release: '1' },
    ],
  };
}

/** An update that needs an update of its dependency. */
const HALVED: DnfSet = {
  installed: [
    { name: 'halved', version: '1.0', release: '1' },
    { name: 'libhalved', version: '1.0', release: '1' },
  ],
  offered: [
    { name: 'halved', version: '2.0', release: '1', requires: ['libhalved >= 2.0'] },
    { name: 'libhalved', version: '2.0', release: '1' },
  ],
};

describe.skipIf(missing !== null)('rollbacks of dnf on a real host', () => {
  const dir = tmpDir('tidegate-dnf-rollback-');
  const kept = join(dir.path, 'kept');
  let host: DnfHost;
  let paths: HostPaths;
  let original: string[];
  let warnings: string[];

  beforeAll(async () => {
    const shared = [DNF_DEMO, DNF_NEW_DEPENDENCY, DNF_REMOVAL, DNF_OBSOLETING, DNF_SIDE_BY_SIDE];
    const own = ['stepping', 'altered', 'offered', 'moved', 'locked', 'doubted', 'lapsed'].map((name) =>
      updateOf(name),
    );
    const packages = [...shared, ...own, ...['ridden', 'spread'].map(growthOf), HALVED];
    host = await createDnfHost(dir.path, { packages });
    original = await host.installed();
  });
  beforeEach(async () => {
    await host.rollBack();
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(kept, { mode: 0o700 });
    paths = hostPaths({ dnf_root: host.root }, kept);
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
    const outcome = await dnfDriver.plan(paths, request);
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.plan.actions;
  }

  /** Fetches as the agent does, and installs as root does. */
  async function carryOut(name: string, toVersion: string, actions: readonly PlanAction[]) {
    const stage = mkdtempSync(join(dir.path, 'stage-'));
    const fetched = await dnfDriver.fetch(paths, { actions, directory: stage });
    if (!fetched.ok) throw new Error(fetched.reason);
    const means = { drivers: [dnfDriver], paths, log, nowMs: () => NOW_MS };
    const wayBack = await keepWayBack(means, { ecosystem: 'dnf', actions: [...actions] }, stage);
    const approval = approvalOf({ ecosystem: 'dnf', name, toVersion, actions });
    return { outcome: await install(dnfInstaller, { paths, stage, approval }), wayBack };
  }

  const updateOnce = doOnce(
    () => [host.root, kept],
    async (name: string, toVersion: string) => {
      const actions = await planOf(name, toVersion);
      const done = await carryOut(name, toVersion, actions);
      expect(done.outcome).toMatchObject({ ok: true });
      return { actions, ...done };
    },
  );

  /** Installs an update, and lets the repositories forget earlier versions. */
  async function update(name: string, toVersion: string, forget: { name: string; evr: string }[] = []) {
    const done = await updateOnce(name, toVersion);
    if (forget.length > 0) await host.withdraw(...forget);
    return done;
  }

  const versionOf = async (name: string) =>
    (await host.installed()).filter((line) => line.startsWith(`${name} `)).join(', ');

  test('a plan names the replaced files that the repositories have, and only those', async () => {
    const before = await planOf('lapsed', '0:2.0-1');
    expect(before.map(({ name, back }) => [name, back?.size_bytes])).toEqual([
      ['lapsed', readFileSync(host.rpmPath('lapsed', '0:1.0-1')).length],
    ]);
    await host.withdraw({ name: 'lapsed', evr: '0:1.0-1' });
    expect((await planOf('lapsed', '0:2.0-1')).map(({ back }) => back)).toEqual([undefined]);
  });

  test.each(
    firstOf(3, [
      ['demo', '1:1.1-1.el9', '1:1.0-1.el9', ['demo 1:1.0-1.el9', 'libdemo 0:1.0-1.el9']],
      ['growing', '0:2.0-1', '0:1.0-1', ['growing 0:1.0-1']],
      ['ousting', '0:2.0-1', '0:1.0-1', ['ousting 0:1.0-1', 'ousted 0:1.0-1']],
      ['heir', '0:2.0-1', '0:1.0-1', ['heir 0:1.0-1', 'elder 0:1.0-1']],
      ['parallel', '0:4.0-1', '0:1.0-1', ['parallel 0:1.0-1']],
    ]),
  )(
    '%s %s is undone to %s from kept files that no repository has any more, and nothing else changes',
    async (name, version, old, goes) => {
      const forget = goes.map((line) => ({ name: line.split(' ')[0] ?? '', evr: line.split(' ')[1] ?? '' }));
      const { actions, wayBack } = await update(name, version, forget);
      const replaced = actions.filter(({ from_version: from }) => from !== undefined).length;
      expect(wayBack).toEqual({ kept: replaced, replaced });
      expect(await host.installed()).not.toEqual(original);
      const undo = await planOf(name, old, actions);
      const { outcome } = await carryOut(name, old, undo);
      expect(outcome).toMatchObject({ ok: true });
      expect(await host.installed()).toEqual(original);
      expect(warnings).toEqual([]);
    },
  );

  test('a kept file with one other byte is no plan, and is not handed to root', async () => {
    const { actions } = await update('altered', '0:2.0-1', [{ name: 'altered', evr: '0:1.0-1' }]);
    const undo = await planOf('altered', '0:1.0-1', actions);
    const of = { ecosystem: 'dnf' as const, name: 'altered', arch: 'noarch', version: '0:1.0-1' };
    const path = openKept(paths.kept).find(of)?.path ?? '';
    const bytes = readFileSync(path);
    bytes[1_000] = (bytes[1_000] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    await expect(carryOut('altered', '0:1.0-1', undo)).rejects.toThrow('artifact_mismatch: altered');
    await expect(planOf('altered', '0:1.0-1', actions)).rejects.toThrow(
      'neither this host nor its repositories have the file of altered 0:1.0-1',
    );
    expect(await versionOf('altered')).toBe('altered 0:2.0-1');
  });

  test('without a kept file the repositories bring the old version, as long as they have it', async () => {
    const { actions } = await update('offered', '0:2.0-1');
    rmSync(paths.kept ?? '', { recursive: true });
    const undo = await planOf('offered', '0:1.0-1', actions);
    expect(undo.map(({ action, name, origin, back }) => [action, name, origin, back])).toEqual([
      ['downgrade', 'offered', 'baseos', actions[0] && fileOf(actions[0])],
    ]);
    await carryOut('offered', '0:1.0-1', undo);
    expect(await versionOf('offered')).toBe('offered 0:1.0-1');
  });

  test('of two different files of one version neither is a way back', async () => {
    const other = { name: 'doubted', version: '1.0', release: '1', content: 'another' } as const;
    const { actions } = await update('doubted', '0:2.0-1');
    rmSync(paths.kept ?? '', { recursive: true });
    await host.publish({ ...other, repository: 'appstream' });
    await expect(planOf('doubted', '0:1.0-1', actions)).rejects.toThrow('the file of doubted 0:1.0-1');
    await host.rollBack();
    expect((await planOf('doubted', '0:2.0-1')).map(({ back }) => back)).toEqual([undefined]);
  });

  test('a host that has moved on is not taken back behind what came later', async () => {
    const { actions } = await update('moved', '0:2.0-1');
    await host.publish({ name: 'moved', version: '3.0', release: '1' });
    await host.dnf('install', 'moved-3.0-1');
    await expect(planOf('moved', '0:1.0-1', actions)).rejects.toThrow(
      'more than undo the installation: downgrade moved:noarch from 0:3.0-1 to 0:1.0-1',
    );
  });

  test('a new dependency that was updated since is not removed', async () => {
    const { actions } = await update('spread', '0:2.0-1');
    await host.publish({ name: 'libspread', version: '3.0', release: '1' });
    await host.dnf('install', 'libspread-3.0-1');
    await expect(planOf('spread', '0:1.0-1', actions)).rejects.toThrow(
      'the host has changed since the installation: dnf does not remove libspread:noarch from 0:2.0-1',
    );
  });

  test('a version that versionlock holds is not taken back', async () => {
    const { actions } = await update('locked', '0:2.0-1');
    writeFileSync(join(host.root, 'etc/dnf/plugins/versionlock.list'), 'locked-0:2.0-1.*\n');
    await expect(planOf('locked', '0:1.0-1', actions)).rejects.toThrow(
      'locked 0:1.0-1 is held back by versionlock on this host',
    );
    rmSync(paths.kept ?? '', { recursive: true });
    await expect(planOf('locked', '0:1.0-1', actions)).rejects.toThrow(
      'locked 0:1.0-1 is held back by versionlock on this host',
    );
  });

  test('an installation goes on without a way back, and says so', async () => {
    const actions = await planOf('offered', '0:2.0-1');
    await host.withdraw({ name: 'offered', evr: '0:1.0-1' });
    const { outcome, wayBack } = await carryOut('offered', '0:2.0-1', actions);
    expect(outcome).toMatchObject({ ok: true });
    expect(wayBack).toEqual({ kept: 0, replaced: 1 });
    expect(existsSync(paths.kept ?? '')).toBe(true);
  });

  /** The file that an action brings, as a rollback's rollback would need it. */
  function fileOf({ artifact }: PlanAction) {
    return { size_bytes: artifact?.size_bytes, sha256: artifact?.sha256 };
  }

  if (isLong) {
    test('what was installed before by an approval is kept too, so the next update has a way back', async () => {
      await update('stepping', '0:2.0-1', [{ name: 'stepping', evr: '0:1.0-1' }]);
      await host.publish({ name: 'stepping', version: '3.0', release: '1' });
      await host.withdraw({ name: 'stepping', evr: '0:2.0-1' });
      const next = await planOf('stepping', '0:3.0-1');
      expect(next.map(({ name, back }) => [name, back !== undefined])).toEqual([['stepping', true]]);
      await carryOut('stepping', '0:3.0-1', next);
      await carryOut('stepping', '0:2.0-1', await planOf('stepping', '0:2.0-1', next));
      expect(await versionOf('stepping')).toBe('stepping 0:2.0-1');
    });

    test('what is undone already is left out of the plan', async () => {
      const { actions } = await update('halved', '0:2.0-1');
      expect(actions.map(({ name }) => name)).toEqual(['halved', 'libhalved']);
      await host.dnf('downgrade', 'halved-1.0-1');
      await expect(planOf('halved', '0:1.0-1', actions)).rejects.toThrow('halved 0:1.0-1 is there already');
      const undo = await planOf('libhalved', '0:1.0-1', actions);
      expect(undo.map(({ action, name }) => `${action} ${name}`)).toEqual(['downgrade libhalved']);
    });

    test('a rollback never removes more than the installation brought', async () => {
      const { actions } = await update('ridden', '0:2.0-1');
      await host.publish({ name: 'rider', version: '1.0', release: '1', requires: ['libridden'] });
      await host.dnf('install', 'rider');
      await expect(planOf('ridden', '0:1.0-1', actions)).rejects.toThrow(/rider/);
      expect(await versionOf('rider')).toBe('rider 0:1.0-1');
    });
  }
});
