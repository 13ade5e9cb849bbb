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
    /** The decompressed body, for routes that hash or parse it themselves. */
    rawBody: Buffer | null;
  }
  interface FastifyContextConfig {
    keepRawBody?: boolean;
    /** Only decompress: the handler parses `rawBody` where it has to. */
    parseLater?: boolean;
    /** Parses the body as JSON whatever media type the client names. */
    isAlwaysJson?: boolean;
  }
}

/** Highest compression ratio; inventory reports stay under a third of it. */
export const RATIO_MAX = 100;
const JSON_MEDIA_TYPE = 'application/json';
/** Decompressed size, in bytes, up to which any ratio is allowed. */
const RATIO_FREE_BYTES = 65_536;
/** Compressed bodies up to this size are decompressed on this thread; the pool costs seven times as much. */
const INLINE_MAX_BYTES = 32_768;
/** Bodies above this size take milliseconds to parse. */
const LARGE_BYTES = 65_536;
/** Largest window of zstd, as a power of two: the 8 MiB that RFC 8878 asks of decoders. */
const ZSTD_WINDOW_LOG_MAX = 23;

const inflate = { gzip: promisify(gunzip), zstd: promisify(zstdDecompress) };

/**
 * Decompresses bodies, never past the route's limit, and parses them as strict JSON. Runs after the guards:
 * the body of a request that a limit or credential refuses is never read.
 */
export function installBodyParser(app: FastifyInstance, inTurn: WorkQueue): void {
  app.decorateRequest('rawBody', null);
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', async ({ raw, routeOptions }) => {
    if (routeOptions.config.isAlwaysJson) raw.headers['content-type'] = JSON_MEDIA_TYPE;
  });
  app.addContentTypeParser<Buffer>(
    JSON_MEDIA_TYPE,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      // Many clients send a media type with every call, even without a body.
      if (body.length === 0) return null;
      const { keepRawBody, parseLater } = request.routeOptions.config;
      const maxBytes = bodyMaxBytesOf(request);
      const bytes = await decompress(body, { encoding: encodingOf(request), maxBytes, inTurn });
      if (keepRawBody || parseLater) request.rawBody = bytes;
      // A body is parsed and validated in one turn; large bodies wait for separate turns of the event loop.
      if (!parseLater && bytes.length > LARGE_BYTES) await takeTurn();
      return parseLater ? null : parseBody(bytes, maxBytes);
    },
  );
}

function bodyMaxBytesOf({ routeOptions }: Pick<FastifyRequest, 'routeOptions'>): number {
  return routeOptions.config.bodyMaxBytes ?? SMALL_BODY_MAX_BYTES;
}

/** Refuses an unsupported encoding before the body is read. */
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
    detail: `The decompressed body may have at most ${RATIO_MAX} times the compressed size.`,
  });
}
