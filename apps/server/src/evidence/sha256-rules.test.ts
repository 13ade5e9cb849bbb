import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashFrom, hexOfState, SHA256_BLOCK, stateAfter, stateOfHex } from './sha256-rules.ts';

test('a hash goes on from any block, and is that of node:crypto (FIPS 180-4)', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(6), (bytes, block) => {
      const before = Math.min(block, Math.floor(bytes.length / SHA256_BLOCK)) * SHA256_BLOCK;
      const state = stateOfHex(hexOfState(stateAfter(bytes.subarray(0, before))));
      const hash = hashFrom(state, { before, tail: bytes.subarray(before) });
      expect(hash).toBe(createHash('sha256').update(bytes).digest('hex'));
    }),
  );
});

test('part of a block is refused', () => {
  expect(() => stateAfter(new Uint8Array(63))).toThrow(RangeError);
});
