import { chainEvents } from '../events/append-event.ts';
import type { DatabaseOptions } from '../platform/db/engine.ts';

/** What a test opens a database with. */
export function databaseOptions(): DatabaseOptions {
  return { beforeCommit: chainEvents };
}
