import { expect, test } from 'vitest';
import { createClock } from './clock.ts';
import { createIds, createRandomBytes } from './ids.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('ids have the shape of UUIDv7, bear the time of the clock and rise in text order', () => {
  const clock = createClock(Date.UTC(2026, 0, 1));
  const ids = createIds(clock);
  const made: string[] = [];
  for (let i = 0; i < 3_000; i++) {
    made.push(ids.uuid());
    if (i % 1_000 === 0) clock.advance(1);
  }
  for (const id of made) expect(id).toMatch(UUID_V7);
  expect(new Set(made).size).toBe(made.length);
  expect([...made].sort()).toEqual(made);
  const stamp = Number.parseInt((made[0] ?? '').replace('-', '').slice(0, 12), 16);
  expect(stamp).toBe(Date.UTC(2026, 0, 1));
});

test('one seed gives the same ids and bytes again, another seed gives others', () => {
  const clock = createClock(1);
  expect(createIds(clock, 'a').uuid()).toBe(createIds(clock, 'a').uuid());
  expect(createIds(clock, 'a').uuid()).not.toBe(createIds(clock, 'b').uuid());
  expect(createRandomBytes('a')(32)).toEqual(createRandomBytes('a')(32));
});

test('the random stream does not depend on how it is cut', () => {
  const whole = createRandomBytes('s')(100);
  const cut = createRandomBytes('s');
  expect(Buffer.concat([cut(1), cut(40), cut(0), cut(59)])).toEqual(Buffer.from(whole));
});

test('ids go on rising when the clock stands still for longer than UUIDv7 can count, and when it is set back', () => {
  const clock = createClock(1_000);
  const ids = createIds(clock);
  const made = Array.from({ length: 5_000 }, () => ids.uuid());
  clock.advance(-500);
  made.push(ids.uuid());
  expect([...made].sort()).toEqual(made);
  expect(new Set(made).size).toBe(5_001);
  clock.advance(10_000);
  expect(ids.uuid().startsWith('00000000-2904-7000-')).toBe(true);
});
