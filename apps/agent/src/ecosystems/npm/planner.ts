import type { HostPaths } from '../ecosystem.ts';
import type { NpmPlace } from './locations.ts';
import type { NpmSession } from './session.ts';

/** Plans of one session share npm's cache. */
export interface Planner {
  session: NpmSession;
  places: readonly NpmPlace[];
  paths: HostPaths;
}
