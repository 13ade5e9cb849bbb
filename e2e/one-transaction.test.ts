import { createAptHost } from '@tidegate/testkit/apt-host';
import type { AptPackage, AptSet } from '@tidegate/testkit/apt-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { type Host, must } from './harness/host.ts';
import { untilJudged } from './harness/offer-updates.ts';
import { liftLimits, type Operator } from './harness/operator.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const isLong = process.env.TIDEGATE_LONG === '1';
/** Each is planned, fetched and judged by itself first, which takes most of the time. */
const SOURCES = isLong ? 30 : 10;
const PACKAGES = 4 * SOURCES;
const APPROVALS = PACKAGES / 4;

/** Outdated packages: of each source an application, its library in exactly its version, data, and a tool. */
function outdated(): AptSet {
  const of = (i: number, version: string): AptPackage[] => {
    const source = `src${i}`;
    const archive = i % 3 === 0 && version !== '1.0-1' ? 'security' : 'main';
    const common = { version, source, archive } as const;
    return [
      { ...common, name: `app${i}`, depends: `libapp${i} (= ${version}), app${i}-data (= ${version})` },
      { ...common, name: `libapp${i}` },
      { ...common, name: `app${i}-data` },
      { ...common, name: `tool${i}`, depends: `libapp${(i + 1) % SOURCES} (>= 1.0-1)` },
    ];
  };
  const numbers = Array.from({ length: SOURCES }, (_, i) => i);
  return {
    installed: numbers.flatMap((i) => of(i, '1.0-1')),
    offered: numbers.flatMap((i) => of(i, '1.1-1')),
  };
}

async function distUpgraded(set: AptSet): Promise<Record<string, string>> {
  using folder = tmpDir('tidegate-twin-');
  const twin = await createAptHost(folder.path, { packages: [set] });
  try {
    await runTool('apt-get', ['-y', '-qq', 'dist-upgrade'], { env: twin.env });
    return Object.fromEntries(await twin.installed());
  } finally {
    await twin.stop();
  }
}

/** Ids end in random digits. */
function byTail(a: string, b: string): number {
  return a.slice(-12) < b.slice(-12) ? -1 : 1;
}

/** Until the host has sent the plan of each update, and of all of them, and the gate has judged them. */
async function planned(host: Host, operator: Operator): Promise<string[]> {
  for (;;) {
    must(await host.runOnce());
    const updates = await operator.updates({ state: 'pending' });
    const plans = await Promise.all(updates.map(async ({ id }) => (await operator.update(id)).plan !== null));
    if (!plans.includes(false)) break;
  }
  must(await host.runOnce());
  const ids = (await operator.updates({ state: 'pending' })).map(({ id }) => id);
  for (const id of ids) await untilJudged(operator, id);
  return ids;
}

describe.skipIf(missing !== null).each(ENGINES.slice(0, 1))(
  `a host of ${PACKAGES} outdated packages, on $name`,
  (engine) => {
    test('is patched by one approval, one token and one run of apt, as by dist-upgrade', async () => {
      const set = outdated();
      const { operator, enrolled } = await createWorld(engine);
      await liftLimits(operator); // the host sends in seconds what it would in minutes
      const host = await enrolled({ packages: [set] });
      const ids = await planned(host, operator);
      expect(ids).toHaveLength(PACKAGES);

      const { status, body } = await operator.call('POST', '/api/v1/updates/approve', { update_ids: ids });
      expect([status, body]).toMatchObject([200, { awaiting_plan: [], blocked: [], skipped: [] }]);
      must(await host.runOnce());
      const installs = await operator.commands({ action: 'install_update' });
      expect(installs.map((one) => [one.status, one.reason])).toEqual([['success', null]]);
      expect(await host.installed()).toEqual(await distUpgraded(set));
      expect(await operator.updates({ state: 'installed' })).toHaveLength(PACKAGES);
      expect(await operator.events({ type: 'PLAN_DRIFT' })).toEqual([]);
    });

    test(`is patched by ${APPROVALS} approvals in any order, without drift or failure`, async () => {
      const set = outdated();
      const { operator, enrolled } = await createWorld(engine);
      await liftLimits(operator); // the host sends in seconds what it would in minutes
      const host = await enrolled({ packages: [set] });
      const ids = (await planned(host, operator)).toSorted(byTail).slice(0, APPROVALS);
      for (const id of ids) await operator.approved(id);
      must(await host.runOnce());
      must(await host.runOnce());
      const states = await Promise.all(ids.map(async (id) => (await operator.update(id)).state));
      expect(states).toEqual(ids.map(() => 'installed'));
      expect(await operator.events({ type: 'PLAN_DRIFT' })).toEqual([]);
      expect(await operator.events({ type: 'update_failed' })).toEqual([]);
    });
  },
);
