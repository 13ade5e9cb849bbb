import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { believeClock, jumpAhead } from '../../testing/jumping-clock.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';
import { keepRetentionClock, retentionTime } from './retention-clock.ts';

const DAY_MS = 86_400_000;

describe.each(ENGINES)('the time of retention on $name', (engine) => {
  test('is the clock, stands still while the clock is not believed, and never runs ahead of the clock', async () => {
    const platform = createTestPlatform(await engine.open());
    const startMs = platform.now();
    expect(await retentionTime(platform)).toBe(startMs);
    await jumpAhead(platform, 400 * DAY_MS);
    await keepRetentionClock(platform);
    expect(await retentionTime(platform)).toBe(startMs);
    expect(platform.lines.filter((line) => line.includes('the clock has jumped'))).toHaveLength(1);
    await believeClock(platform);
    expect(await retentionTime(platform)).toBe(platform.now());
    platform.clock.advance(-DAY_MS);
    expect(await retentionTime(platform)).toBe(platform.now());
  });

  test('says in the log when the clock is right again', async () => {
    const platform = createTestPlatform(await engine.open());
    await jumpAhead(platform, 400 * DAY_MS);
    platform.clock.advance(-400 * DAY_MS);
    await keepRetentionClock(platform);
    expect(platform.lines.at(-1)).toContain('the clock is believed again');
    expect(await retentionTime(platform)).toBe(platform.now());
  });
});
