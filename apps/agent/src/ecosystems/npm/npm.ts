import {
  type EcosystemDriver,
  type HostPaths,
  type PlanTarget,
  type PlanUpdates,
  UNKNOWN_LISTS,
} from '../ecosystem.ts';
import { fetchActions } from './fetch.ts';
import { findPlaces } from './places.ts';
import { planUpdates } from './plan.ts';
import { fetchReplaced } from './replaced.ts';
import { scanNpm } from './scan.ts';
import { findNpm, unprivileged, withNpmSession } from './session.ts';

/** Global packages and projects of npm. */
export const npmDriver: EcosystemDriver = {
  ecosystem: 'npm',
  present: async () => (await findNpm()) !== null,
  scan: scanNpm,
  // Each scan queries the registry: there are no lists that could be old.
  examineLists: async () => UNKNOWN_LISTS,
  plan: (paths, request) => withNpmPlanning(paths, request.updates, (plan) => plan(request)),
  withPlanning: withNpmPlanning,
  fetch: fetchActions,
  fetchReplaced,
};

async function withNpmPlanning<T>(
  paths: HostPaths,
  _upcoming: readonly PlanTarget[],
  work: (plan: PlanUpdates) => Promise<T>,
): Promise<T> {
  return withNpmSession(
    paths,
    async (session) => {
      const { places } = await findPlaces(session, paths);
      return work((request) => planUpdates({ session, places, paths }, request, new Date()));
    },
    { identity: await unprivileged() },
  );
}
