import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { unarmoured } from './openpgp.ts';
import type { ReleaseSigner } from './release-signer.ts';

/** Of rpm's file format, version 3: the lead, then two headers, each of a magic number, entries and their data. */
const LEAD_BYTES = 96;
const PREAMBLE_BYTES = 16;
const ENTRY_BYTES = 16;
const MAGIC = Buffer.from('8eade801', 'hex');
const TYPE_BINARY = 7;
/** Describes all other entries. Its own data come last, and repeat its entry with the size of all before, below zero. */
const TAG_REGION = 62;
/** "DSA" in rpm's source, and there also for EdDSA: over the second header alone. */
const TAG_SIGNATURE = 267;

interface Entry {
  tag: number;
  type: number;
  offset: number;
  count: number;
}

interface Header {
  entries: Entry[];
  data: Buffer;
  end: number;
}

/** Signs an rpm package that has no signature: its header, which holds the digest of the payload. */
export async function signRpm(file: string, signer: ReleaseSigner): Promise<void> {
  const bytes = readFileSync(file);
  const first = readHeader(bytes, LEAD_BYTES);
  const start = padded(first.end);
  const second = readHeader(bytes, start);
  const signed = bytes.subarray(start, second.end);
  const signature = await unarmoured(await signer.signatureOf(basename(file), 'detached', signed));
  const head = Buffer.concat([bytes.subarray(0, LEAD_BYTES), withSignature(first, signature)]);
  const padding = Buffer.alloc(padded(head.length) - head.length);
  writeFileSync(file, Buffer.concat([head, padding, bytes.subarray(start)]));
}

function readHeader(bytes: Buffer, start: number): Header {
  if (!bytes.subarray(start, start + MAGIC.length).equals(MAGIC)) throw new Error('this is no rpm package');
  const count = bytes.readUInt32BE(start + 8);
  const dataStart = start + PREAMBLE_BYTES + count * ENTRY_BYTES;
  const end = dataStart + bytes.readUInt32BE(start + 12);
  const entries = Array.from({ length: count }, (_, index) => {
    const at = start + PREAMBLE_BYTES + index * ENTRY_BYTES;
    const [tag, type] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
    return { tag, type, offset: bytes.readInt32BE(at + 8), count: bytes.readUInt32BE(at + 12) };
  });
  return { entries, data: bytes.subarray(dataStart, end), end };
}

function withSignature({ entries, data }: Header, signature: Buffer): Buffer {
  const [region, ...others] = entries;
  if (region?.tag !== TAG_REGION || others.some(({ tag }) => tag <= TAG_SIGNATURE))
    throw new Error('this rpm package cannot be signed: it has no region, or a signature');
  // Data stand in the order of their tags, and numbers on multiples of their size.
  const aligned = padded(signature.length);
  const body = Buffer.concat([
    signature,
    Buffer.alloc(aligned - signature.length),
    data.subarray(0, region.offset),
  ]);
  const added = { tag: TAG_SIGNATURE, type: TYPE_BINARY, offset: 0, count: signature.length };
  const all = [added, ...others.map((entry) => ({ ...entry, offset: entry.offset + aligned }))];
  const trailer = { ...region, offset: -(all.length + 1) * ENTRY_BYTES };
  const index = [{ ...region, offset: body.length }, ...all].map(entryBytes);
  const store = Buffer.concat([body, entryBytes(trailer)]);
  const sizes = Buffer.alloc(PREAMBLE_BYTES - MAGIC.length);
  sizes.writeUInt32BE(index.length, 4);
  sizes.writeUInt32BE(store.length, 8);
  return Buffer.concat([MAGIC, sizes, ...index, store]);
}

function entryBytes({ tag, type, offset, count }: Entry): Buffer {
  const bytes = Buffer.alloc(ENTRY_BYTES);
  bytes.writeUInt32BE(tag, 0);
  bytes.writeUInt32BE(type, 4);
  bytes.writeInt32BE(offset, 8);
  bytes.writeUInt32BE(count, 12);
  return bytes;
}

/** Each header but the last ends on a multiple of eight. */
function padded(length: number): number {
  return Math.ceil(length / 8) * 8;
}
