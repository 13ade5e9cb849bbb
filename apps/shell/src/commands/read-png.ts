import { inflateSync } from 'node:zlib';
import type { ImageResource } from '../core/resource-table.ts';

/** Icons and the like; each webview holds 64 at most. */
export const IMAGE_SIDE_MAX = 1_024;

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** Bytes for each pixel by the colour type of the header: RGB and RGBA. */
const BYTES_PER_PIXEL = new Map([
  [2, 3],
  [6, 4],
]);

/** Reads a PNG of eight bits a channel, with or without alpha, not interlaced. Null for any other file. */
export function readPng(file: Uint8Array): ImageResource | null {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (!bytes.subarray(0, 8).equals(SIGNATURE) || bytes.length < 33) return null;
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return null;
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const perPixel = BYTES_PER_PIXEL.get(bytes[25] ?? 0);
  const isPlain = bytes[24] === 8 && bytes[28] === 0;
  if (perPixel === undefined || !isPlain || !isSide(width) || !isSide(height)) return null;
  const expected = height * (width * perPixel + 1);
  const data = inflate(dataOf(bytes), expected);
  if (data === null || data.length !== expected) return null;
  const rows = unfilter(data, { lineBytes: width * perPixel, height, perPixel });
  return rows === null ? null : { width, height, rgba: withAlpha(rows, perPixel) };
}

export function isSide(side: number): boolean {
  return side >= 1 && side <= IMAGE_SIDE_MAX;
}

function dataOf(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return Buffer.concat(parts);
}

function inflate(data: Buffer, most: number): Buffer | null {
  try {
    return inflateSync(data, { maxOutputLength: most });
  } catch {
    return null;
  }
}

/** Undoes the filter of each row (PNG, section 9): null for one that does not exist. */
function unfilter(
  data: Buffer,
  { lineBytes, height, perPixel }: { lineBytes: number; height: number; perPixel: number },
): Uint8Array | null {
  const rows = new Uint8Array(lineBytes * height);
  for (let y = 0; y < height; y++) {
    const from = y * (lineBytes + 1);
    const filter = data[from] ?? 0;
    if (filter > 4) return null;
    for (let i = 0; i < lineBytes; i++) {
      const at = y * lineBytes + i;
      const left = i < perPixel ? 0 : (rows[at - perPixel] ?? 0);
      const up = y === 0 ? 0 : (rows[at - lineBytes] ?? 0);
      const corner = y === 0 || i < perPixel ? 0 : (rows[at - lineBytes - perPixel] ?? 0);
      rows[at] = (data[from + 1 + i] ?? 0) + predict(filter, { left, up, corner });
    }
  }
  return rows;
}

function predict(filter: number, { left, up, corner }: { left: number; up: number; corner: number }): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  return filter === 4 ? paeth(left, up, corner) : 0;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function withAlpha(rows: Uint8Array, perPixel: number): Uint8Array {
  if (perPixel === 4) return rows;
  const rgba = new Uint8Array((rows.length / 3) * 4).fill(255);
  for (let pixel = 0; pixel < rows.length / 3; pixel++)
    rgba.set(rows.subarray(pixel * 3, pixel * 3 + 3), pixel * 4);
  return rgba;
}
