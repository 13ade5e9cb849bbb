import type { IncomingMessage } from 'node:http';

/**
 * Headers that decide what a request asks, who asks it, or where its body ends. Given twice, a proxy in front may go
 * by the one and this server by the other.
 */
const ONCE: ReadonlySet<string> = new Set([
  ...['host', 'authorization', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding'],
  ...['expect', 'origin', 'sec-fetch-site', 'x-machine-id', 'x-csrf-token'],
]);

/** Longest path and query, in characters: filters of a list take a tenth of it. Parsing 15 KB of query costs a millisecond. */
const URL_MAX_CHARS = 8_192;

/** What is wrong with the head of a request (RFC 9112, section 3.2; RFC 9110, section 5.3); null where nothing is. */
export function headerFault({ url = '', headers, rawHeaders, httpVersion }: HeadOf): string | null {
  if (url.length > URL_MAX_CHARS) return `The address may have at most ${URL_MAX_CHARS} characters.`;
  if (headers.host === undefined && httpVersion === '1.1') return 'A request of HTTP/1.1 has a Host header.';
  let names = 0;
  for (const _ in headers) names++;
  // The usual request repeats no header, and pays no more than this.
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
