import { startFleet } from './fleet.ts';
import { medians, sendReports } from './inventory.ts';
import { median, memoryOf } from './processes.ts';
import type { Figure } from './record.ts';
import { flagsOf } from './rounds.ts';
import type { Scenario } from './scenario.ts';

/** Each host has 1,500 packages: what is measured is a report, not how many hosts there are. */
const HOSTS_MAX = 50;

const KINDS = {
  unchanged: 'report, unchanged',
  changed: 'report, ten changed, whole',
  delta: 'report, ten changed, as a delta',
  deltaWithUpdates: 'report, ten changed, as a delta, with 30 updates',
} as const;

/** Reports of 1,500 packages, of each kind in the same rounds. */
export const measureReports: Scenario = async ({ engine, ...of }, { floor, options }) => {
  const agents = Math.min(of.agents, HOSTS_MAX);
  const fleet = await startFleet(engine, { agents, nodeFlags: flagsOf(engine) });
  if ('missing' in fleet) return fleet;
  try {
    const hellos: number[] = [];
    const { kinds } = await sendReports(fleet, options.rounds, async () => {
      hellos.push(await floor.costUs(options.seconds));
    });
    const helloUs = Math.round(median(hellos) * 100) / 100;
    const rssMb = Math.round(memoryOf(fleet.pid).rssKb / 1_024);
    return (['unchanged', 'changed', 'delta', 'deltaWithUpdates'] as const).map((kind): Figure => {
      const figures = medians(kinds[kind]);
      const cpuRatio = Math.round((100 * figures.cpuUs) / helloUs) / 100;
      return {
        ...{ server: `tidegate on ${engine}`, scenario: KINDS[kind], agents, cpuRatio, helloUs, rssMb },
        ...figures,
      };
    });
  } finally {
    await fleet.stop();
  }
};
