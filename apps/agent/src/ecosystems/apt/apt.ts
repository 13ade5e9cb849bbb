import { findProgram } from '../../run-program.ts';
import type { EcosystemDriver } from '../ecosystem.ts';
import { fetchActions } from './fetch.ts';
import { findAptPlaces, readInstalled } from './installed.ts';
import { planTarget } from './plan.ts';
import { scanApt } from './scan.ts';
import { withAptSession } from './session.ts';

/** Debian and its kin. */
export const aptDriver: EcosystemDriver = {
  ecosystem: 'apt',
  present: async () => {
    const programs = ['apt-get', 'apt-cache', 'apt-config', 'dpkg-query'];
    const found = await Promise.all(programs.map(findProgram));
    return found.every((path) => path !== null);
  },
  scan: (paths) => scanApt(paths, new Date()),
  plan: async (paths, target) => {
    const places = await findAptPlaces(paths);
    if (!places.ok) return places;
    const installed = await readInstalled(places.value);
    if (!installed.ok) return installed;
    const state = { places: places.value, installed: installed.value.packages };
    return withAptSession(paths, (session) => planTarget(session, target, state, new Date()));
  },
  fetch: fetchActions,
};
