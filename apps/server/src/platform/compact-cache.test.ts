import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCompactCache } from './compact-cache.ts';

const MEBIBYTE = 1_048_576;

const keyOf = (name: number | string) =>
  new Uint32Array(new Uint8Array(createHash('sha256').update(`${name}`).digest()).buffer.slice(0, 16));

function put(
  cache: ReturnType<typeof createCompactCache>,
  name: number,
  value: number,
  untilSeconds = 1_000,
) {
  const at = cache.claim(keyOf(name), { nowSeconds: 1, untilSeconds });
  cache.words[at] = value;
}

function readValue(
  cache: ReturnType<typeof createCompactCache>,
  name: number,
  nowSeconds = 1,
): number | null {
  const at = cache.find(keyOf(name), nowSeconds);
  return at === -1 ? null : (cache.words[at] ?? null);
}

describe('a cache in typed arrays', () => {
  test('below its bound it answers like a Map, through every growth', () => {
    const act = fc.record({
      name: fc.nat(3_000),
      value: fc.integer({ min: 0, max: 0xffff_ffff }),
      untilSeconds: fc.integer({ min: 1, max: 40 }),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 3_000, size: 'max' }), (acts) => {
        const cache = createCompactCache({ valueWords: 3, bytesMax: MEBIBYTE });
        const model = new Map<number, { value: number; untilSeconds: number }>();
        acts.forEach(({ name, value, untilSeconds }, i) => {
          const nowSeconds = Math.floor(i / 100);
          const at = cache.claim(keyOf(name), { nowSeconds, untilSeconds });
          cache.words[at] = value;
          model.set(name, { value, untilSeconds });
          const other = acts[Math.floor(i / 2)]?.name ?? 0;
          const known = model.get(other);
          const expected = known !== undefined && known.untilSeconds > nowSeconds ? known.value : null;
          expect(readValue(cache, other, nowSeconds)).toBe(expected);
        });
      }),
      { numRuns: 20 },
    );
  });

  test('nothing is lost while it grows to 50,000 records, and a record takes less than twice its words', () => {
    const cache = createCompactCache({ valueWords: 4, bytesMax: 64 * MEBIBYTE });
    for (let i = 0; i < 50_000; i++) put(cache, i, i);
    for (let i = 0; i < 50_000; i++) expect(readValue(cache, i)).toBe(i);
    // Once more, so that the records of the last growth are moved.
    for (let i = 0; i < 50_000; i++) put(cache, i, i);
    expect(cache.bytes / 50_000).toBeLessThan(2 * 9 * 4);
  });

  test('records that ended make room: a fleet that changes its keys for ever does not make it grow', () => {
    const cache = createCompactCache({ valueWords: 1, bytesMax: 64 * MEBIBYTE });
    let largest = 0;
    for (let round = 1; round <= 30; round++) {
      for (let i = 0; i < 2_000; i++) {
        cache.claim(keyOf(`${round}/${i}`), { nowSeconds: round, untilSeconds: round + 1 });
      }
      if (round === 4) largest = cache.bytes;
    }
    expect(cache.bytes).toBe(largest);
  });

  test('past its bound it loses some records and not all, and stays as large as it is', () => {
    const bytesMax = 128 * 1_024;
    const cache = createCompactCache({ valueWords: 1, bytesMax });
    const capacity = Math.floor(bytesMax / 24);
    const names = Math.floor(capacity * 1.25);
    let hits = 0;
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < names; i++) {
        if (readValue(cache, i) === null) put(cache, i, i);
        else if (round > 0) hits++;
      }
    }
    expect(hits / (4 * names)).toBeGreaterThan(0.5);
    expect(cache.bytes).toBeLessThanOrEqual(bytesMax);
  });

  test.each([0, 1, 100])('a bound of %i bytes still makes a cache of one bucket', (bytesMax) => {
    const cache = createCompactCache({ valueWords: 1, bytesMax });
    for (let i = 0; i < 100; i++) put(cache, i, i);
    expect(readValue(cache, 99)).toBe(99);
  });

  test('keys that share their first words, as ids of one moment do, are told apart', () => {
    const cache = createCompactCache({ valueWords: 1, bytesMax: MEBIBYTE });
    for (let i = 0; i < 12; i++) {
      const at = cache.claim(new Uint32Array([7, 7, 7, i]), { nowSeconds: 1, untilSeconds: 9 });
      cache.words[at] = i;
    }
    const found = Array.from({ length: 12 }, (_, i) => {
      const at = cache.find(new Uint32Array([7, 7, 7, i]), 1);
      return at === -1 ? null : cache.words[at];
    });
    for (const [i, value] of found.entries()) expect([i, null]).toContain(value);
    expect(found.filter((value) => value !== null).length).toBeGreaterThanOrEqual(8);
  });
});
