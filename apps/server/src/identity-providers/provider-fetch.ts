import { type Dispatcher, request } from 'undici';
import { readUpTo } from '../platform/read-up-to.ts';

/** For one answer, in milliseconds. */
export const ANSWER_TIMEOUT_MS = 10_000;
/** Largest answer of a provider, in bytes. */
const ANSWER_MAX_BYTES = 512 * 1_024;

export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

export type ProviderFetch = (
  url: string,
  options: { method: string; headers: Headers | Record<string, string>; body?: unknown },
) => Promise<Response>;

/** `fetch` for what an operator has entered: guarded, bounded, without redirects. */
export function createProviderFetch(dispatcher: Dispatcher): ProviderFetch {
  return async (url, { method, headers, body }) => {
    const {
      statusCode,
      headers: answered,
      body: stream,
    } = await request(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(headers instanceof Headers ? headers : Object.entries(headers)),
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      dispatcher,
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
    const { bytes, isCut } = await readUpTo(stream, ANSWER_MAX_BYTES);
    if (isCut) throw new AnswerTooLarge(`The provider answered with more than ${ANSWER_MAX_BYTES} bytes`);
    const kept = ['content-type', 'www-authenticate', 'date'].flatMap((name) => {
      const value = answered[name];
      return value === undefined ? [] : [[name, String(value)] satisfies [string, string]];
    });
    const isEmpty = statusCode === 204 || statusCode === 304;
    return new Response(isEmpty ? null : new Uint8Array(bytes), { status: statusCode, headers: kept });
  };
}
