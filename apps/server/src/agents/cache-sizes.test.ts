import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createCompactCache } from '../platform/compact-cache.ts';
import { cacheSizes, rememberedAgents } from './cache-sizes.ts';

test('the default remembers half a million agents', () => {
  expect(rememberedAgents(72)).toBeGreaterThan(480_000);
});

test('of as many agents as are named one in 200 is forgotten at most, with two tokens each', () => {
  const agents = rememberedAgents(1);
  const { verifiedMaxBytes, lastMaxBytes } = cacheSizes(1);
  expect(verifiedMaxBytes + lastMaxBytes).toBe(1_048_576);
  const caches = [
    { cache: createCompactCache({ valueWords: 8, bytesMax: verifiedMaxBytes }), records: 2 * agents },
    { cache: createCompactCache({ valueWords: 2, bytesMax: lastMaxBytes }), records: agents },
  ];
  for (const { cache, records } of caches) {
    const keys = Array.from({ length: records }, (_, i) => {
      const digest = createHash('sha256').update(`${i}`).digest();
      return Uint32Array.from({ length: 4 }, (_, word) => digest.readUInt32LE(4 * word));
    });
    for (const key of keys) cache.claim(key, { nowSeconds: 1, untilSeconds: 2 });
    const forgotten = keys.filter((key) => cache.find(key, 1) === -1).length;
    expect(forgotten / records).toBeLessThan(1 / 200);
  }
});
