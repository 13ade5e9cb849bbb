// Curve constants of RFC 8032 section 5.1.
const fieldPrime = 2n ** 255n - 19n;
const curveD = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/**
 * The y coordinates of the eight points of small order: orders 4 (y = 0), 1, 2, and the two of the four points of
 * order 8. Under such a key anyone can make a signature, and Node's and Bun's libraries differ on whether they take it.
 */
const smallOrderY: readonly bigint[] = [
  0n,
  1n,
  fieldPrime - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  55188659117513257062467267217118295137698188065244968500265048394206261417927n,
];

/**
 * Judges the encoding of an Ed25519 public key in our own code, because the runtimes of server and agent disagree.
 * `weak`: small order (the all-zero key is one), or y not reduced. `malformed`: not 32 bytes, or no point of the curve.
 */
export function judgePublicKey(bytes: Uint8Array): 'sound' | 'weak' | 'malformed' {
  if (bytes.length !== 32) return 'malformed';
  if (isWeakPoint(bytes)) return 'weak';
  return isOnCurve(yCoordinate(bytes)) ? 'sound' : 'malformed';
}

/** Whether 32 bytes encode a point of small order, or one whose y is not reduced. */
export function isWeakPoint(bytes: Uint8Array): boolean {
  const y = yCoordinate(bytes);
  return y >= fieldPrime || smallOrderY.includes(y);
}

/** Reads bytes as a little-endian number, the form of RFC 8032 section 5.1.2. */
export function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => number * 256n + BigInt(byte), 0n);
}

function yCoordinate(bytes: Uint8Array): bigint {
  return littleEndian(bytes) % 2n ** 255n; // the top bit is the sign of x
}

/** RFC 8032 section 5.1.3: x² = (y² - 1) / (d y² + 1) must have a root, which Euler's criterion tells. */
function isOnCurve(y: bigint): boolean {
  const ySquared = (y * y) % fieldPrime;
  const product = ((ySquared - 1n) * (curveD * ySquared + 1n)) % fieldPrime;
  return power((product + fieldPrime) % fieldPrime, (fieldPrime - 1n) / 2n) <= 1n;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let factor = base, left = exponent; left > 0n; left >>= 1n, factor = (factor * factor) % fieldPrime) {
    if (left & 1n) result = (result * factor) % fieldPrime;
  }
  return result;
}
