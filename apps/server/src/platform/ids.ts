import { randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

export type RandomBytes = (size: number) => Buffer;
export type NewId = () => string;

export const systemRandom: RandomBytes = (size) => randomBytes(size);

/** UUIDv7 (RFC 9562, section 5.7) over the given clock; ids of one process rise even within a millisecond. */
export function createIdMaker(clock: Clock, random: RandomBytes): NewId {
  let lastMs = 0;
  let counter = 0;
  return () => {
    const now = clock();
    if (now > lastMs) {
      lastMs = now;
      counter = random(2).readUInt16BE(0) & 0x7ff;
    } else if (++counter > 0xfff) {
      lastMs++;
      counter = 0;
    }
    const bytes = random(16);
    bytes.writeUIntBE(lastMs, 0, 6);
    bytes.writeUInt16BE(0x7000 | counter, 6);
    bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };
}
