import { randomBytes } from 'node:crypto';
import { createClock } from '@tidegate/testkit/clock';
import { describe, expect, test } from 'vitest';
import { createIdMaker } from './ids.ts';

const START_MS = Date.UTC(2026, 10, 21);
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('UUIDv7', () => {
  test('has the time, the version and the variant (RFC 9562, 5.7)', () => {
    const id = createIdMaker(() => START_MS, randomBytes)();
    expect(id).toMatch(UUID_V7);
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(START_MS);
  });

  test('rises within one millisecond, also past the counter, and when the clock is set back', () => {
    const clock = createClock(START_MS);
    const newId = createIdMaker(clock.now, randomBytes);
    const ids = Array.from({ length: 10_000 }, newId);
    clock.advance(-60_000);
    ids.push(...Array.from({ length: 100 }, newId));
    clock.advance(120_000);
    ids.push(newId());
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => UUID_V7.test(id))).toBe(true);
  });

  test('two processes with one clock create different ids', () => {
    const make = () =>
      Array.from(
        { length: 1_000 },
        createIdMaker(() => START_MS, randomBytes),
      );
    expect(new Set([...make(), ...make()]).size).toBe(2_000);
  });
});
