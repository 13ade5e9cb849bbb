import {
  createOpenConnections,
  type OpenConnections,
  openFilesMax,
} from '../platform/http/open-connections.ts';
import type { Log } from '../platform/log.ts';

/** Least time between two lines of the log about connections that were ended. */
const TOLD_EVERY_MS = 60_000;

/** Bounds connections by the limit of open files, and logs when it ends some. */
export function boundConnections(log: Pick<Log, 'warn'>, isDraining: () => boolean): OpenConnections {
  const filesMax = openFilesMax();
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
