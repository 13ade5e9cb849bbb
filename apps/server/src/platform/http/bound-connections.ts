import type { Log } from '../log.ts';
import { createOpenConnections, type OpenConnections, openFilesMax } from './open-connections.ts';

/** Least time between two lines of the log about connections that were ended. */
const TOLD_EVERY_MS = 60_000;

/** Share of the limit of open files that is left to requests which go from a worker to the server. */
const FORWARDED_SHARE = 0.25;

/** Requests of all workers at once on their way to the server, at most. */
export function forwardedMax(): number {
  return Math.floor((openFilesMax() ?? UNLIMITED) * FORWARDED_SHARE);
}

/** Where the system tells no limit. */
const UNLIMITED = 65_536;

export interface Bound {
  log: Pick<Log, 'warn'>;
  isDraining: () => boolean;
  /** Whether requests are forwarded between processes, over sockets that need files too. */
  isForwarding: boolean;
}

/** Bounds connections by the limit of open files, and logs when it ends some. */
export function boundConnections({ log, isDraining, isForwarding }: Bound): OpenConnections {
  const limit = openFilesMax();
  const filesMax = limit !== null && isForwarding ? Math.floor(limit * (1 - FORWARDED_SHARE)) : limit;
  let toldMs = Number.NEGATIVE_INFINITY;
  return createOpenConnections({
    ...{ filesMax, isDraining },
    onCrowded(open) {
      if (performance.now() - toldMs < TOLD_EVERY_MS) return;
      toldMs = performance.now();
      log.warn(
        'too many connections to keep: they end with their answers until the limit of open files is raised',
        { open, open_files_max: filesMax },
      );
    },
  });
}
