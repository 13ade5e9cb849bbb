import { createHash } from 'node:crypto';
import type { Clock } from './clock.ts';

/** The counter within one millisecond is the 12 bits of UUIDv7's rand_a (RFC 9562, section 6.2, method 1). */
const MAX_IDS_PER_MS = 0x1000;

/** A repeatable source of ids and random bytes; for tests only, its output can be foretold. */
export type Ids = {
  /** A UUIDv7 of the clock's time; always rises in text order, also when the clock stands still or is set back. */
  uuid(): string;
  /** `count` bytes of the seeded stream. */
  bytes(count: number): Uint8Array<ArrayBuffer>;
};

/**
 * Makes a source whose output depends on the clock and the seed alone, so that a failing test fails the same way
 * again. Two sources of one seed give the same ids: give each its own seed where they must differ.
 */
export function createIds(clock: Pick<Clock, 'now'>, seed = 'tidegate'): Ids {
  const bytes = createRandomBytes(seed);
  let lastMs = Number.NEGATIVE_INFINITY;
  let counter = 0;

  function uuid(): string {
    const nowMs = Math.floor(clock.now());
    counter = nowMs > lastMs ? 0 : counter + 1;
    lastMs = Math.max(nowMs, lastMs);
    if (counter === MAX_IDS_PER_MS) {
      lastMs++; // the time runs ahead rather than an id falling back (RFC 9562, section 6.2)
      counter = 0;
    }
    const time = lastMs.toString(16).padStart(12, '0');
    const random = Buffer.from(bytes(8));
    random.writeUInt8((random.readUInt8(0) & 0x3f) | 0x80, 0); // variant, RFC 9562 section 4.1
    const tail = random.toString('hex');
    const sequence = counter.toString(16).padStart(3, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${tail.slice(0, 4)}-${tail.slice(4)}`;
  }

  return { uuid, bytes };
}

/** A stream of bytes from SHA-256 in counter mode: the same seed gives the same stream on every machine. */
export function createRandomBytes(seed: string): (count: number) => Uint8Array<ArrayBuffer> {
  let block = Buffer.alloc(0);
  let blocks = 0;
  return (count) => {
    const out = new Uint8Array(count);
    for (let filled = 0; filled < count; ) {
      if (block.length === 0) block = createHash('sha256').update(`${seed}\n${blocks++}`).digest();
      const piece = block.subarray(0, count - filled);
      out.set(piece, filled);
      filled += piece.length;
      block = block.subarray(piece.length);
    }
    return out;
  };
}
