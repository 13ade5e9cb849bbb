import { createClock, type Clock as TestClock } from '@tidegate/testkit/clock';
import { createIds } from '@tidegate/testkit/ids';
import type { Database } from '../platform/db/engine.ts';
import { createLog, type LogOptions } from '../platform/log.ts';
import type { Platform } from '../platform/platform.ts';

export interface TestPlatform extends Platform {
  clock: TestClock;
  /** Every log line so far. */
  lines: string[];
}

/** The world outside for a test: a clock that stands still until told, repeatable ids, a log that is kept. */
export function createTestPlatform(
  database: Database,
  options: { startMs?: number; seed?: string; log?: Partial<LogOptions> } = {},
): TestPlatform {
  const clock = createClock(options.startMs ?? Date.UTC(2026, 10, 21, 9));
  const ids = createIds(clock, options.seed ?? 'platform');
  const lines: string[] = [];
  const log = createLog({
    level: 'debug',
    format: 'text',
    now: clock.now,
    write: (line) => lines.push(line),
    ...options.log,
  });
  return {
    database,
    clock,
    lines,
    log,
    now: clock.now,
    newId: ids.uuid,
    random: (n) => Buffer.from(ids.bytes(n)),
  };
}
