import { keepRetentionClock } from '../platform/retention/retention-clock.ts';
import { saveRetentionClock } from '../platform/retention/store.ts';
import type { createTestPlatform } from './test-platform.ts';

type World = Pick<ReturnType<typeof createTestPlatform>, 'database' | 'now' | 'log' | 'clock'>;

/** The clock of a server that looks at it jumps ahead, and is not believed. */
export async function jumpAhead(world: World, ms: number): Promise<void> {
  await keepRetentionClock(world);
  world.clock.advance(ms);
  await keepRetentionClock(world);
}

/** As after a week in which it went on in step. */
export async function believeClock({ database, now }: Pick<World, 'database' | 'now'>): Promise<void> {
  const row = { believed_at: now(), read_at: now(), stood_ms: 0 };
  await database.transact((tx) => saveRetentionClock(tx, row));
}
