import type { Clock } from './clock.ts';
import type { Database } from './db/engine.ts';
import type { NewId, RandomBytes } from './ids.ts';
import type { Log } from './log.ts';

/** The outside world for every slice; created in main.ts, or by a test. */
export interface Platform {
  database: Database;
  log: Log;
  now: Clock;
  newId: NewId;
  random: RandomBytes;
}
