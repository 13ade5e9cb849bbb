import { checkInRequest } from './check-in.ts';
import { startFleet } from './fleet.ts';
import { flagsOf, measureBeside } from './rounds.ts';
import type { Scenario } from './scenario.ts';

/** Idle check-ins of all agents in turn over 64 kept connections, at saturation. */
export const measureCheckIns: Scenario = async ({ engine, agents }, { floor, options }) => {
  const fleet = await startFleet(engine, { agents, nodeFlags: flagsOf(engine) });
  if ('missing' in fleet) return fleet;
  try {
    const { url, pid, cpuUs } = fleet;
    const figures = await measureBeside(floor, options, {
      ...{ url, pid, cpuUs, firstRequests: agents },
      title: `${engine}, ${agents.toLocaleString('en')} agents`,
      requests: fleet.agents.map(checkInRequest),
    });
    return [{ server: `tidegate on ${engine}`, scenario: 'check-in', agents, ...figures }];
  } finally {
    await fleet.stop();
  }
};
