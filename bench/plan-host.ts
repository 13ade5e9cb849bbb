import { aptDriver } from '../apps/agent/src/ecosystems/apt/apt.ts';
import { withAptSession } from '../apps/agent/src/ecosystems/apt/session.ts';
import { hostPaths } from '../apps/agent/src/ecosystems/host-places.ts';
import { timed } from './timed.ts';

/** Updates of one session before, and how many of them are measured. */
const BEFORE_BATCH = 20;

/** Scans and plans one host in this process and prints seconds, CPU (with apt) and peak memory (without apt). */
const paths = hostPaths(process.argv[2] ? { apt_config: process.argv[2] } : {});
const scanned = await timed(() => aptDriver.scan(paths));
const updates = scanned.value.updates.map(({ name, arch, available_version: toVersion }) => ({
  ...{ name, toVersion },
  ...(arch === undefined ? {} : { arch }),
}));
let planned = 0;
const alone = await timed(() =>
  aptDriver.withPlanning(paths, updates, async (plan) => {
    for (const update of updates) if ((await plan({ updates: [update] })).ok) planned += 1;
  }),
);
const joint = await timed(() => aptDriver.plan(paths, { updates }));
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
const before = await timed(planAsBefore);
const share = updates.length / Math.min(BEFORE_BATCH, updates.length);
const result = {
  updates: updates.length,
  scan: scanned.cost,
  plans: { planned, ...alone.cost },
  joint: { actions: joint.value.ok ? joint.value.plan.actions.length : joint.value.reason, ...joint.cost },
  peakMb,
  plansBefore: {
    seconds: Number((before.cost.seconds * share).toFixed(1)),
    cpuSeconds: Number((before.cost.cpuSeconds * share).toFixed(1)),
  },
};
process.stdout.write(`${JSON.stringify(result)}\n`);

/** One session of 20 plans, each of four runs of apt. */
function planAsBefore(): Promise<void> {
  return withAptSession(paths, async (session) => {
    for (const { name, toVersion } of updates.slice(0, BEFORE_BATCH)) {
      const pin = `${name}=${toVersion}`;
      await session.run('apt-get', ['-s', '-y', '--allow-downgrades', 'install', '--only-upgrade', pin]);
      await session.run('apt-cache', ['policy', name]);
      await session.run('apt-get', ['-qq', 'download', '--print-uris', pin]);
      await session.run('apt-cache', ['show', pin]);
    }
  });
}
