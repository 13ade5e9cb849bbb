import { startFleet } from './fleet.ts';
import { renewalsOf } from './renewals.ts';
import { flagsOf, measureBeside } from './rounds.ts';
import type { Scenario } from './scenario.ts';

/** Renewals of all agents in turn over 64 kept connections, each on disk before its answer. */
export const measureRenewals: Scenario = async ({ engine, agents }, { floor, options }) => {
  const fleet = await startFleet(engine, { agents, nodeFlags: flagsOf(engine) });
  if ('missing' in fleet) return fleet;
  try {
    const { url, pid, cpuUs } = fleet;
    const figures = await measureBeside(floor, options, {
      ...{ url, pid, cpuUs, firstRequests: 0 },
      title: `${engine}, renewals`,
      requests: renewalsOf(fleet.agents),
    });
    return [{ server: `tidegate on ${engine}`, scenario: 'renewals', agents, ...figures }];
  } finally {
    await fleet.stop();
  }
};
