import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Asset } from './read-assets.ts';

/**
 * Sends a file from memory. All answers share its bytes: however many clients do not read theirs, they keep no file open
 * and no copy.
 */
export function sendAsset(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
  { type, etag, plain, compressed }: Asset,
): FastifyReply {
  reply.header('etag', etag);
  if (compressed.length > 0) reply.header('vary', 'accept-encoding');
  if (isNamedIn(headers['if-none-match'], etag)) return reply.code(304).send();
  const coded = compressed.find(({ encoding }) => isAccepted(headers['accept-encoding'], encoding));
  if (coded !== undefined) reply.header('content-encoding', coded.encoding);
  return reply.header('content-type', type).send(coded?.bytes ?? plain);
}

/** RFC 9110, section 13.1.2. */
function isNamedIn(given: string | undefined, etag: string): boolean {
  const named = (given ?? '').split(',').map((one) => one.trim());
  return named.some((one) => one === '*' || one === etag || `W/${one}` === etag);
}

/** RFC 9110, section 12.5.3, without `*`. */
function isAccepted(given: string | undefined, encoding: string): boolean {
  return (given ?? '').split(',').some((one) => {
    const [name, quality = ''] = one.toLowerCase().split(';');
    return name?.trim() === encoding && !/^\s*q=0(\.0*)?\s*$/.test(quality);
  });
}
