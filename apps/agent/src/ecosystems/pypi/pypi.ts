import { downloadIdentity } from '../downloads.ts';
import {
  type EcosystemDriver,
  type HostPaths,
  type PlanTarget,
  type PlanUpdates,
  UNKNOWN_LISTS,
} from '../ecosystem.ts';
import { fetchActions } from './fetch.ts';
import { openIndex } from './index-client.ts';
import { type FoundPlaces, findPlaces } from './places.ts';
import { planUpdates } from './plan.ts';
import type { Planner } from './planner.ts';
import { fetchReplaced } from './replaced.ts';
import { scanPypi } from './scan.ts';

/** Python packages in virtual environments and of users; never those of the system's Python. */
export const pypiDriver: EcosystemDriver = {
  ecosystem: 'pypi',
  present: async (paths) => {
    if (paths.pypi.environments.length > 0) return true;
    const { places, faults } = await findPlaces(paths);
    return places.length + faults.length > 0;
  },
  scan: (paths) => scanPypi(paths),
  examineLists: async (paths) => {
    const { unseen } = await findPlaces(paths);
    if (unseen.length === 0) return UNKNOWN_LISTS;
    const staleness = `environments in folders that the agent cannot read are not seen: ${unseen.join(', ')}`;
    return { ageMs: null, staleness };
  },
  plan: (paths, request) => withPypiPlanning(paths, request.updates, (plan) => plan(request)),
  withPlanning: withPypiPlanning,
  fetch: async (paths, job) => fetchActions(await openPlanner(paths), job),
  fetchReplaced: async (paths, job) => fetchReplaced(await openPlanner(paths), job),
};

async function withPypiPlanning<T>(
  paths: HostPaths,
  _upcoming: readonly PlanTarget[],
  work: (plan: PlanUpdates) => Promise<T>,
): Promise<T> {
  const planner = await openPlanner(paths);
  return work((request) => planUpdates(planner, request, new Date()));
}

/** Uses `found` instead of searching the host. */
export async function openPlanner(paths: HostPaths, found?: FoundPlaces): Promise<Planner> {
  const identity = await downloadIdentity(null);
  const uids = new Set([0, process.geteuid?.() ?? 0]);
  return {
    index: openIndex(paths),
    found: found ?? (await findPlaces(paths)),
    identity,
    uids,
    kept: paths.kept,
  };
}
