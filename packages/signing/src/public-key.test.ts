import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { judgePublicKey } from './public-key.ts';
import { KeyError, loadTrustedKey } from './verify.ts';

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

// The same table is put to server, agent and the compiled agent: see vectors/README.md.
const cases: Record<'sound' | 'weak' | 'malformed', { name: string; hex: string }[]> = JSON.parse(
  readFileSync(new URL('../../../vectors/ed25519-public-keys.json', import.meta.url), 'utf8'),
);
const order8 = hexOf('order 8');
const otherOrder8 = hexOf('order 8', 1);

function hexOf(name: string, nth = 0): string {
  const found = cases.weak.filter((each) => each.name === name)[nth];
  if (!found) throw new Error(`no weak key "${name}"`);
  return found.hex;
}

function codeOf(hex: string): string {
  try {
    loadTrustedKey({ keyId: 'k', publicKeyHex: hex });
    return 'sound';
  } catch (error) {
    if (error instanceof KeyError) return error.code;
    throw error;
  }
}

test('the table has every spelling of the eight points of small order, and every y that is not reduced', () => {
  const smallOrder = cases.weak.filter(({ name }) => name.startsWith('order'));
  // The points of order 1 and 2 have x = 0, and so a second spelling with the sign bit set.
  expect(new Set(smallOrder.map(({ hex }) => hex)).size).toBe(8 + 2);
  expect(cases.weak.filter(({ name }) => name.startsWith('y = p')).length).toBe(19 * 2);
});

test.each(cases.weak)('a key is weak: $name', ({ hex }) => {
  expect(judgePublicKey(Buffer.from(hex, 'hex'))).toBe('weak');
  expect(codeOf(hex)).toBe('weak');
});

test.each(cases.malformed)('a key is malformed: $name', ({ hex }) => {
  expect(codeOf(hex)).toBe('malformed');
});

test.each(cases.sound)('a key is sound: $name', ({ hex }) => {
  expect(codeOf(hex)).toBe('sound');
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
