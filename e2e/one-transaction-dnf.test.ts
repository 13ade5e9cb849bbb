import type { DnfPackage, DnfSet } from '@tidegate/testkit/dnf-packages';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { dnfStoryMissing, enrolledDnfHost } from './harness/dnf-host.ts';
import { must } from './harness/host.ts';
import { untilJudged } from './harness/offer-updates.ts';
import { liftLimits } from './harness/operator.ts';
import { createWorld } from './harness/world.ts';

const missing = dnfStoryMissing();
const SOURCES = 10;

/** 40 outdated packages of 10 sources: of each an application, its library in exactly its version, data, and a tool. */
function outdated(): DnfSet {
  const of = (i: number, version: string): DnfPackage[] => {
    const common = { version, release: '1.el9', source: `src${i}` } as const;
    return [
      { ...common, name: `app${i}`, requires: [`libapp${i} = ${version}`, `app${i}-data = ${version}`] },
      { ...common, name: `libapp${i}` },
      { ...common, name: `app${i}-data` },
      { ...common, name: `tool${i}`, requires: [`libapp${(i + 1) % SOURCES} >= 1.0`] },
    ];
  };
  const numbers = Array.from({ length: SOURCES }, (_, i) => i);
  return {
    installed: numbers.flatMap((i) => of(i, '1.0')),
    offered: numbers.flatMap((i) => of(i, '1.1')),
  };
}

describe.skipIf(missing !== null).each(ENGINES.slice(0, 1))(
  `a dnf host of 40 outdated packages${missing === null ? '' : ` (${missing})`}, on $name`,
  (engine) => {
    test('is patched by one approval, one token and one run of dnf, as by dnf upgrade', async () => {
      const world = await createWorld(engine);
      const { operator } = world;
      await liftLimits(operator); // the host sends in seconds what it would in minutes
      const host = await enrolledDnfHost(world, { packages: [outdated()] });
      for (;;) {
        const updates = await operator.updates({ state: 'pending' });
        expect(updates).toHaveLength(4 * SOURCES);
        if (updates.every(({ has_plan: hasPlan }) => hasPlan)) break;
        must(await host.runOnce());
      }
      must(await host.runOnce());
      const ids = (await operator.updates({ state: 'pending' })).map(({ id }) => id);
      for (const id of ids) await untilJudged(operator, id);
      const { status, body } = await operator.call('POST', '/api/v1/updates/approve', { update_ids: ids });
      expect([status, body]).toMatchObject([200, { awaiting_plan: [], blocked: [], skipped: [] }]);
      must(await host.runOnce());
      const installs = await operator.commands({ action: 'install_update' });
      expect(installs.map((one) => [one.status, one.reason])).toEqual([['success', null]]);
      const patched = await host.dnf.installed();
      expect(await operator.updates({ state: 'installed' })).toHaveLength(4 * SOURCES);
      expect(await operator.events({ type: 'PLAN_DRIFT' })).toEqual([]);

      await host.dnf.rollBack();
      expect(await host.dnf.installed()).not.toEqual(patched);
      await host.dnf.dnf('upgrade');
      expect(await host.dnf.installed()).toEqual(patched);
    });
  },
);
