import { findProgram } from '../../platform/run-program.ts';
import type { EcosystemDriver, HostPaths, PlanOne } from '../ecosystem.ts';
import { fetchActions } from './fetch.ts';
import { findAptPlaces, readInstalled } from './installed.ts';
import { findStaleLists } from './list-age.ts';
import { planTarget } from './plan.ts';
import { scanApt } from './scan.ts';
import { withAptSession } from './session.ts';
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
  findStaleness: async (paths, nowMs) => {
    const places = await findAptPlaces(paths);
    return places.ok ? findStaleLists(places.value, nowMs) : null;
  },
  findTrouble: findAptTrouble,
  plan: (paths, target) => withAptPlanning(paths, (plan) => plan(target)),
  withPlanning: withAptPlanning,
  fetch: fetchActions,
};

async function withAptPlanning<T>(paths: HostPaths, work: (plan: PlanOne) => Promise<T>): Promise<T> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return work(async () => places);
  const installed = await readInstalled(places.value);
  if (!installed.ok) return work(async () => installed);
  const state = { places: places.value, installed: installed.value.packages };
  return withAptSession(paths, (session) => work((target) => planTarget(session, target, state, new Date())));
}
