import { promisify } from 'node:util';
import { constants, gunzip, gunzipSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { takeTurn } from '../turns.ts';
import type { WorkQueue } from '../work-queue.ts';
import { jsonLimits, SMALL_BODY_MAX_BYTES } from './body-sizes.ts';
import { Refusal } from './refusal.ts';
import { hasBody } from './unread-body.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body after decompression, kept for routes that hash what they parse. */
    rawBody: Buffer | null;
  }
  interface FastifyContextConfig {
    keepRawBody?: boolean;
    /** Only decompresses: the handler looks at `rawBody` first and parses it where it has to. */
    parseLater?: boolean;
  }
}

/** Most bytes that one compressed byte may become: reports of packages stay under a third of it. */
export const RATIO_MAX = 100;
/** What any compressed body may become, whatever its ratio. */
const RATIO_FREE_BYTES = 65_536;
/** Compressed bodies up to this size are decompressed on this thread: the pool costs seven times the work. */
const INLINE_MAX_BYTES = 32_768;
/** Bodies above this size take milliseconds to parse. */
const LARGE_BYTES = 65_536;
/** Largest window of zstd, as a power of two: the 8 MiB that RFC 8878 asks of decoders. */
const ZSTD_WINDOW_LOG_MAX = 23;

const inflate = { gzip: promisify(gunzip), zstd: promisify(zstdDecompress) };

/**
 * Reads JSON strictly and decompresses it first where the client says so, never past the route's limit. The framework
 * comes here only after the guards: who is refused by limit or credential has no body read at all.
 */
export function installBodyParser(app: FastifyInstance, inTurn: WorkQueue): void {
  app.decorateRequest('rawBody', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      // A media type without a body is no body: many clients name one for every call.
      if (body.length === 0) return null;
      const { keepRawBody, parseLater } = request.routeOptions.config;
      const maxBytes = bodyMaxBytesOf(request);
      const bytes = await decompress(body, { encoding: encodingOf(request), maxBytes, inTurn });
      if (keepRawBody || parseLater) request.rawBody = bytes;
      // What is parsed is checked against its schema in the same turn; of several large bodies each has one of its own.
      if (!parseLater && bytes.length > LARGE_BYTES) await takeTurn();
      return parseLater ? null : parseBody(bytes, maxBytes);
    },
  );
}

function bodyMaxBytesOf({ routeOptions }: Pick<FastifyRequest, 'routeOptions'>): number {
  return routeOptions.config.bodyMaxBytes ?? SMALL_BODY_MAX_BYTES;
}

/** Refuses an encoding that is none of ours before the body is read. */
export function demandKnownEncoding(request: Pick<FastifyRequest, 'headers'>): void {
  if (hasBody(request.headers)) encodingOf(request);
}

type Encoding = 'gzip' | 'zstd' | null;

function encodingOf({ headers }: Pick<FastifyRequest, 'headers'>): Encoding {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === 'identity') return null;
  if (encoding === 'gzip' || encoding === 'zstd') return encoding;
  throw new Refusal('unsupported_media_type', { detail: 'Content-Encoding may be gzip or zstd.' });
}

/** Strict JSON, or a Refusal. */
function parseBody(bytes: Uint8Array, maxBytes: number): unknown {
  const json = parseStrictJson(bytes, jsonLimits(maxBytes));
  if (!json.ok) {
    throw new Refusal('invalid_request', {
      detail: 'The body is not acceptable JSON.',
      errors: [{ path: '', message: json.reason }],
    });
  }
  return json.value;
}

async function decompress(
  body: Buffer,
  { encoding, maxBytes, inTurn }: { encoding: Encoding; maxBytes: number; inTurn: WorkQueue },
): Promise<Buffer> {
  if (encoding === null) {
    if (body.length > maxBytes) throw tooLarge(maxBytes);
    return body;
  }
  const maxOutputLength = Math.min(maxBytes, Math.max(RATIO_FREE_BYTES, body.length * RATIO_MAX));
  const options = {
    maxOutputLength,
    ...(encoding === 'zstd' ? { params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } } : {}),
  };
  try {
    if (body.length > INLINE_MAX_BYTES) return await inTurn(() => inflate[encoding](body, options));
    return encoding === 'gzip' ? gunzipSync(body, options) : zstdDecompressSync(body, options);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (
      error instanceof RangeError ||
      (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
    ) {
      throw maxOutputLength < maxBytes ? tooDense() : tooLarge(maxBytes);
    }
    throw new Refusal('invalid_request', { detail: `The body is not valid ${encoding}.` });
  }
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('payload_too_large', {
    detail: `The body may have at most ${maxBytes} bytes after decompression.`,
  });
}

function tooDense(): Refusal {
  return new Refusal('payload_too_large', {
    detail: `A compressed byte may become at most ${RATIO_MAX} bytes.`,
  });
}
