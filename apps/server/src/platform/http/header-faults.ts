import type { IncomingMessage } from 'node:http';

/**
 * Headers that decide what is asked, who asks, or where the body ends. If one is repeated, a proxy may use
 * the first and this server the second.
 */
const ONCE: ReadonlySet<string> = new Set([
  ...['host', 'authorization', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding'],
  ...['expect', 'origin', 'sec-fetch-site', 'x-machine-id', 'x-csrf-token'],
]);

/** Longest URL, in characters; filters need a tenth of it. Parsing a query of 15 KB takes a millisecond. */
const URL_MAX_CHARS = 8_192;

/**
 * The fault of a request's headers (RFC 9112, section 3.2; RFC 9110, section 5.3); null where there is none.
 */
export function headerFault({ url = '', headers, rawHeaders, httpVersion }: HeadOf): string | null {
  if (url.length > URL_MAX_CHARS) return `The address may have at most ${URL_MAX_CHARS} characters.`;
  if (headers.host === undefined && httpVersion === '1.1') return 'A request of HTTP/1.1 has a Host header.';
  let names = 0;
  for (const _ in headers) names++;
  // Most requests repeat no header and cost only this comparison.
  if (names * 2 === rawHeaders.length) return null;
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (!ONCE.has(name)) continue;
    if (seen.has(name)) return `The header ${name} is given twice; allowed: once.`;
    seen.add(name);
  }
  return null;
}

type HeadOf = Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders' | 'httpVersion'>;
