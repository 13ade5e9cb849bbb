import { findProgram } from '../../platform/run-program.ts';
import {
  type EcosystemDriver,
  type HostPaths,
  type PlanTarget,
  type PlanUpdates,
  UNKNOWN_LISTS,
} from '../ecosystem.ts';
import { fetchActions } from './fetch.ts';
import { findAptPlaces } from './installed.ts';
import { judgeLists } from './list-age.ts';
import { planUpdates } from './plan.ts';
import { withPlanner } from './planner.ts';
import { fetchReplaced } from './replaced.ts';
import { scanApt } from './scan.ts';
import { findAptTrouble } from './trouble.ts';

/** Debian and its derivatives. */
export const aptDriver: EcosystemDriver = {
  ecosystem: 'apt',
  present: async () => {
    const programs = ['apt-get', 'apt-cache', 'apt-config', 'dpkg-query'];
    const found = await Promise.all(programs.map(findProgram));
    return found.every((path) => path !== null);
  },
  scan: scanApt,
  examineLists: async (paths, localMs) => {
    const places = await findAptPlaces(paths);
    return places.ok ? judgeLists(places.value, localMs) : UNKNOWN_LISTS;
  },
  findTrouble: findAptTrouble,
  plan: (paths, request) => withAptPlanning(paths, request.updates, (plan) => plan(request)),
  withPlanning: withAptPlanning,
  fetch: fetchActions,
  fetchReplaced,
};

async function withAptPlanning<T>(
  paths: HostPaths,
  upcoming: readonly PlanTarget[],
  work: (plan: PlanUpdates) => Promise<T>,
): Promise<T> {
  return withPlanner(paths, upcoming, (planner) =>
    work(async (request) => (planner.ok ? planUpdates(planner.value, request, new Date()) : planner)),
  );
}
