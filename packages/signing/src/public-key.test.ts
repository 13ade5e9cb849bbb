import { expect, test } from 'vitest';
import { judgePublicKey } from './public-key.ts';

const fieldPrime = 2n ** 255n - 19n;
const basePoint = encode(
  46316835694926478169428394003475163141307993866256225615783033603165251855960n,
  false,
);

function encode(y: bigint, isXOdd: boolean): Uint8Array {
  const bytes = new Uint8Array(32);
  for (let at = 0, left = y + (isXOdd ? 2n ** 255n : 0n); at < 32; at += 1, left >>= 8n)
    bytes[at] = Number(left & 255n);
  return bytes;
}

/** Doubles on y and x² alone (RFC 8032 section 5.1.4), to find the order of a point without the tested code. */
function doublingsToNeutral(y: bigint): number {
  let ySquared = (y * y) % fieldPrime;
  for (let doublings = 0; doublings <= 4; doublings += 1) {
    const xSquared = times(ySquared - 1n, inverse(times(curveD, ySquared) + 1n));
    if (xSquared === 0n) return doublings; // the neutral point, or (0, -1), which is one doubling further
    const sum = xSquared + ySquared;
    const doubledY = times(sum, inverse(times(-times(curveD, xSquared), ySquared) + 1n));
    ySquared = times(doubledY, doubledY);
  }
  return Number.POSITIVE_INFINITY;
}

const curveD = times(-121665n, inverse(121666n));

function times(a: bigint, b: bigint): bigint {
  return (((a * b) % fieldPrime) + fieldPrime) % fieldPrime;
}

function inverse(of: bigint): bigint {
  let result = 1n;
  for (let exponent = fieldPrime - 2n, factor = times(of, 1n); exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = times(result, factor);
    factor = times(factor, factor);
  }
  return result;
}

const order8 = '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05';
const otherOrder8 = 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a';

test.each([
  ['order 1', '0100000000000000000000000000000000000000000000000000000000000000'],
  ['order 1, sign bit set', '0100000000000000000000000000000000000000000000000000000000000080'],
  ['order 2', 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['order 2, sign bit set', 'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'],
  ['order 4, all zero', '0000000000000000000000000000000000000000000000000000000000000000'],
  ['order 4, sign bit set', '0000000000000000000000000000000000000000000000000000000000000080'],
  ['order 8', order8],
  ['order 8, sign bit set', `${order8.slice(0, 62)}85`],
  ['order 8, the other y', otherOrder8],
  ['order 8, the other y, sign bit set', `${otherOrder8.slice(0, 62)}fa`],
  ['y = p', 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  ['y = p, sign bit set', 'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'],
  ['y = p + 1', 'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f'],
  [
    'y = p + 3, a full-order point spelt otherwise',
    'f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ],
  ['all ones', 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'],
])('a key of %s is weak', (_what, hex) => {
  expect(judgePublicKey(Buffer.from(hex, 'hex'))).toBe('weak');
});

test('the small-order table is the curve’s: each canonical y of it reaches the neutral point in three doublings', () => {
  for (const hex of [order8, otherOrder8]) {
    expect(doublingsToNeutral(BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`))).toBeLessThan(
      3,
    );
  }
  expect(doublingsToNeutral(0n)).toBeLessThan(3);
  expect(doublingsToNeutral(basePointY())).toBe(Number.POSITIVE_INFINITY);
});

function basePointY(): bigint {
  return times(4n, inverse(5n));
}

test('the base point, in both signs, is sound', () => {
  expect(basePoint).toEqual(encode(basePointY(), false));
  expect(judgePublicKey(basePoint)).toBe('sound');
  expect(judgePublicKey(encode(basePointY(), true))).toBe('sound');
});

test('a y that is on no point of the curve is malformed', () => {
  expect(judgePublicKey(encode(2n, false))).toBe('malformed');
  expect(judgePublicKey(encode(2n, true))).toBe('malformed');
});

test.each([0, 31, 33, 64])('%i bytes are malformed', (length) => {
  expect(judgePublicKey(new Uint8Array(length).fill(9))).toBe('malformed');
});
