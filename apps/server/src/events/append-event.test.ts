import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { createClock } from '@tidegate/testkit/clock';
import { createIds } from '@tidegate/testkit/ids';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { chainOf } from '../testing/event-chains.ts';
import { appendEvent, canonicalRow, hashOfEvent } from './append-event.ts';
import { listEvents, readHead } from './store.ts';

const everything = { filter: {}, scope: null, limit: 200, before: null };

describe.each(ENGINES)('events on $name', (engine) => {
  const clock = createClock(1_800_000_000_000);
  const platform = { now: clock.now, newId: createIds(clock).uuid };

  test('R3: each event has the hash of the previous one, and the head is the newest', async () => {
    const database = await engine.open();
    for (const n of [1, 2, 3]) {
      await database.transact((tx) =>
        appendEvent(tx, platform, {
          kind: 'security',
          type: 'AGENT_ERROR',
          severity: 'info',
          component: 'agents',
          content: { n },
        }),
      );
    }
    const [third, second, first] = await listEvents(database.read, everything);
    expect(first?.previous_hash).toBeNull();
    expect(second?.previous_hash).toBe(first?.hash);
    expect(third?.previous_hash).toBe(second?.hash);
    expect(await readHead(database.read)).toEqual({ position: 3, hash: third?.hash });
    const { hash, ...row } = third ?? {};
    expect(hashOfEvent(row)).toBe(hash);
    expect(hashOfEvent({ ...row, content: '{"n":4}' })).not.toBe(hash);
  });

  test('an event of a transaction that fails is not written', async () => {
    const database = await engine.open();
    const failing = database.transact(async (tx) => {
      const content = { agent_id: 'a' };
      const event = {
        kind: 'security',
        type: 'MACHINE_BOUND',
        severity: 'info',
        component: 'agents',
        content,
      } as const;
      await appendEvent(tx, platform, event);
      throw new Error('the act failed');
    });
    await expect(failing).rejects.toThrow('the act failed');
    expect(await listEvents(database.read, everything)).toEqual([]);
  });

  test('200 concurrent events form one chain without a gap', async () => {
    const database = await engine.open();
    const event = {
      kind: 'system',
      type: 'client_error',
      severity: 'info',
      component: 'console',
      content: {},
    } as const;
    await Promise.all(
      Array.from({ length: 200 }, () => database.transact((tx) => appendEvent(tx, platform, event))),
    );
    const rows = await listEvents(database.read, everything);
    expect(rows.map((row) => row.position)).toEqual(Array.from({ length: 200 }, (_, i) => 200 - i));
    expect(rows.slice(0, -1).every((row, i) => row.previous_hash === rows[i + 1]?.hash)).toBe(true);
  });
});

const [genuine] = chainOf(1);
const { hash: _, ...ROW } = genuine ?? {};

test('a row has the text of its RFC 8785 form, whatever is in it', () => {
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constant(null),
  );
  const changes = fc.dictionary(fc.constantFrom(...Object.keys(ROW), 'more'), value);
  fc.assert(
    fc.property(changes, (change) => {
      const row = { ...ROW, ...change };
      expect(canonicalRow(row)).toBe(canonicalJson(row));
    }),
  );
  expect(() => canonicalRow({ ...ROW, actor: '\ud800' })).toThrow(TypeError);
  expect(() => canonicalRow({ ...ROW, position: Number.NaN })).toThrow(TypeError);
  expect(canonicalRow({ ...ROW, position: -0 })).toBe(canonicalJson({ ...ROW, position: -0 }));
});
