import type { TidyTask } from '../outsiders/upkeep.ts';
import type { Platform } from '../platform/platform.ts';
import { KEPT_BYTES_MAX, KEPT_ROWS_MAX, pruneClientErrors } from './store.ts';

/** Keeps the newest client errors, within limits of rows and bytes. */
export function tidyClientErrors({ database }: Pick<Platform, 'database'>): TidyTask {
  return {
    what: 'client errors',
    run: () =>
      database.transact((tx) => pruneClientErrors(tx, { rows: KEPT_ROWS_MAX, bytes: KEPT_BYTES_MAX })),
  };
}
