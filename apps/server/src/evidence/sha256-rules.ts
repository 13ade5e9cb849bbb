/** SHA-256 between two blocks (FIPS 180-4): eight words. No library gives it away, and a withheld event needs it. */
export type Sha256State = readonly number[];

export const SHA256_BLOCK = 64;

const INITIAL: Sha256State = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/** The state after whole blocks, from `from` on. */
export function stateAfter(blocks: Uint8Array, from: Sha256State = INITIAL): Sha256State {
  if (blocks.length % SHA256_BLOCK !== 0) throw new RangeError('SHA-256 takes whole blocks');
  let state = from;
  for (let at = 0; at < blocks.length; at += SHA256_BLOCK) state = compress(state, blocks, at);
  return state;
}

/** The hash, in hex, of a text of which `state` has taken `before` bytes and `tail` is the rest. */
export function hashFrom(state: Sha256State, { before, tail }: { before: number; tail: Uint8Array }): string {
  const zeros = (SHA256_BLOCK - ((tail.length + 9) % SHA256_BLOCK)) % SHA256_BLOCK;
  const end = Buffer.alloc(9 + zeros);
  end[0] = 0x80;
  end.writeBigUInt64BE(BigInt(before + tail.length) * 8n, end.length - 8);
  return hexOfState(stateAfter(Buffer.concat([tail, end]), state));
}

export function hexOfState(state: Sha256State): string {
  return state.map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** Of 64 hex digits. */
export function stateOfHex(hex: string): Sha256State {
  return Array.from({ length: 8 }, (_, i) => Number.parseInt(hex.slice(i * 8, i * 8 + 8), 16));
}

const ROUNDS = 64;
const CONSTANTS = Uint32Array.from(primes(ROUNDS), (prime) => fractionOf(Math.cbrt(prime)));
const words = new Uint32Array(ROUNDS);

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

/** The first 32 bits of the fraction. */
function fractionOf(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32);
}

function compress(state: Sha256State, bytes: Uint8Array, at: number): Sha256State {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, SHA256_BLOCK);
  for (let i = 0; i < 16; i++) words[i] = view.getUint32(i * 4);
  for (let i = 16; i < ROUNDS; i++) {
    const near = word(i - 2);
    const far = word(i - 15);
    const small0 = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
    const small1 = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
    words[i] = word(i - 16) + small0 + word(i - 7) + small1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < ROUNDS; i++) {
    const big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + big1 + ((e & f) ^ (~e & g)) + (CONSTANTS[i] ?? 0) + word(i)) | 0;
    const big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((value, i) => (value + (state[i] ?? 0)) >>> 0);
}

function word(i: number): number {
  return words[i] ?? 0;
}

function rotate(value: number, by: number): number {
  return (value >>> by) | (value << (32 - by));
}
