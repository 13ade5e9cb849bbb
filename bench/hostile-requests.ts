import { gzipSync, zstdCompressSync } from 'node:zlib';

/** A request as it is sent, without its method, path and credential. */
export interface Shape {
  name: string;
  /** Appended to the path. */
  query?: string;
  headers?: readonly string[];
  /** Absent for a request without a body. */
  body?: Buffer;
  /** Sent in pieces without a declared length. */
  isChunked?: boolean;
}

const MIB = 1024 * 1024;
const JSON_TYPE = 'content-type: application/json';

/** Request heads that cost as much as the HTTP parser allows (16 KiB in all). */
export const HEAD_SHAPES: readonly Shape[] = [
  { name: 'plain' },
  { name: '15 KB of query parameters', query: `?${'a=1&'.repeat(3_750)}` },
  { name: '15 KB of one query parameter, encoded', query: `?q=${'%41'.repeat(5_000)}` },
  { name: '14 KB of headers', headers: Array.from({ length: 1_500 }, (_, n) => `x${n}: 1`) },
  { name: '12 KB of X-Forwarded-For', headers: [`x-forwarded-for: ${'1.2.3.4,'.repeat(1_500)}5.6.7.8`] },
  { name: '12 KB of cookies', headers: [`cookie: ${'tidegate_session=a;'.repeat(650)}`] },
];

/** Bodies that are expensive in every way: long, many members, deeply nested, compressed, slow to reject. */
export const BODY_SHAPES: readonly Shape[] = [
  ...[
    ['one string of 1 MiB', Buffer.from(`{"a":"${'x'.repeat(MIB - 10)}"}`)],
    ['100,000 unknown keys', Buffer.from(keys(100_000))],
    ['500,000 numbers', Buffer.from(`[${'1,'.repeat(500_000)}1]`)],
    ['1 MiB of open brackets', Buffer.alloc(MIB, '[')],
    [
      'nested 30 deep, again and again',
      Buffer.from(`[${`${'['.repeat(30)}${']'.repeat(30)},`.repeat(16_000)}1]`),
    ],
    ['4 KB of unknown keys', Buffer.from(keys(480))],
    ['4 KB of escapes', Buffer.from(`{"a":"${'\\u0041'.repeat(670)}"}`)],
    ['4 KB of arrays', Buffer.from(`[${'[],'.repeat(1_350)}1]`)],
    ['no JSON', Buffer.from('{"a":')],
  ].map(([name, body]) => ({ name: String(name), headers: [JSON_TYPE], body: Buffer.from(body ?? '') })),
  compressed('gzip', '200 KB of gzip, 8 MiB of keys', keys(900_000).slice(0, 8 * MIB)),
  compressed('gzip', 'gzip of 50 MiB of spaces', Buffer.alloc(50 * MIB, ' ')),
  compressed('gzip', 'gzip of 4,000 bytes of keys', keys(470)),
  compressed('zstd', 'zstd of 50 MiB of spaces', Buffer.alloc(50 * MIB, ' ')),
  {
    name: 'a zstd frame with a window of 128 MiB',
    headers: [JSON_TYPE, 'content-encoding: zstd'],
    body: wideFrame(),
  },
  {
    name: 'multipart of 1 MiB',
    headers: ['content-type: multipart/form-data; boundary=x'],
    body: Buffer.alloc(MIB, 'x'),
  },
  {
    name: 'a content type of 8 KB',
    headers: [`content-type: application/json; ${'a=b; '.repeat(1_600)}`],
    body: Buffer.alloc(MIB, ' '),
  },
  { name: '1 MiB in chunks', headers: [JSON_TYPE], body: Buffer.alloc(MIB, ' '), isChunked: true },
];

function keys(count: number): string {
  return `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',')}}`;
}

function compressed(encoding: 'gzip' | 'zstd', name: string, plain: string | Buffer): Shape {
  const body = encoding === 'gzip' ? gzipSync(plain) : zstdCompressSync(plain);
  return { name, headers: [JSON_TYPE, `content-encoding: ${encoding}`], body };
}

/** RFC 8878, section 3.1.1: no content size, a window of 2^27 bytes, one last raw block of one byte. */
function wideFrame(): Buffer {
  return Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, (27 - 10) << 3, 0x09, 0x00, 0x00, 0x20]);
}

/** The whole request, ready for a socket. */
export function bytesOf(
  { method, path, credential }: { method: string; path: string; credential: readonly string[] },
  { query = '', headers = [], body, isChunked }: Shape,
): Buffer {
  const length =
    body === undefined ? [] : [isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`];
  const head = [`${method} ${path}${query} HTTP/1.1`, 'host: bench', ...credential, ...headers, ...length];
  const start = Buffer.from(`${head.join('\r\n')}\r\n\r\n`);
  if (body === undefined) return start;
  return Buffer.concat([start, isChunked ? inChunks(body) : body]);
}

const CHUNK_BYTES = 1_024;

function inChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i < body.length; i += CHUNK_BYTES) {
    const part = body.subarray(i, i + CHUNK_BYTES);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
