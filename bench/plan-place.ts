import type { EcosystemDriver } from '../apps/agent/src/ecosystems/ecosystem.ts';
import { hostPaths } from '../apps/agent/src/ecosystems/host-places.ts';
import { npmDriver } from '../apps/agent/src/ecosystems/npm/npm.ts';
import { pypiDriver } from '../apps/agent/src/ecosystems/pypi/pypi.ts';
import { timed } from './timed.ts';

/** Plans updates of one place in this process, one by one or together, and prints seconds and CPU. */
const { ecosystem, joint, config, arch, toVersion, names } = JSON.parse(process.argv[2] ?? '');
const driver: EcosystemDriver = ecosystem === 'npm' ? npmDriver : pypiDriver;
const paths = hostPaths(config);
const updates = names.map((name: string) => ({ name, arch, toVersion }));
const sets = joint ? [updates] : updates.map((update: unknown) => [update]);
let planned = 0;
const { cost } = await timed(() =>
  driver.withPlanning(paths, updates, async (plan) => {
    for (const set of sets) {
      const outcome = await plan({ updates: set });
      if (!outcome.ok) throw new Error(outcome.reason);
      planned += 1;
    }
  }),
);
process.stdout.write(JSON.stringify({ plans: planned, ...cost }));
