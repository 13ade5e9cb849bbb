import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { type Dispatcher, request } from 'undici';
import { createOutgoing } from '../../platform/outgoing.ts';
import { retryAfterMs } from '../../platform/retry-after.ts';
import { Problem } from './acme-documents.ts';
import { AcmeFault } from './acme-fault.ts';

/** Largest answer, in bytes; a chain has a few kilobytes. */
const ANSWER_MAX_BYTES = 262_144;
const TIMEOUT_MS = 30_000;
const BAD_NONCE = 'urn:ietf:params:acme:error:badNonce';

export interface AcmeAnswer {
  status: number;
  text: string;
  nonce: string | null;
  /** Absolute, by https. */
  location: string | null;
  retryAfterMs: number | null;
}

/** Speaks HTTP with an ACME server. */
export interface AcmeHttp {
  /** One request; throws an AcmeFault if no answer comes. */
  send(call: {
    method: 'GET' | 'HEAD' | 'POST';
    url: string;
    body?: string;
    accept?: string;
  }): Promise<AcmeAnswer>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Through the proxy of the environment. `ca`: certificates in PEM to trust in place of the public ones. */
export function openAcmeHttp(options: {
  ca: string | null;
  now: () => number;
  signal: AbortSignal;
}): AcmeHttp {
  const dispatcher = createOutgoing({ ca: options.ca, maxResponseSize: ANSWER_MAX_BYTES });
  return {
    async send({ method, url, body, accept = 'application/json' }) {
      try {
        const answer = await request(url, {
          ...{ method, dispatcher, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS },
          headers: { accept, 'user-agent': 'tidegate', 'content-type': 'application/jose+json' },
          ...(body === undefined ? {} : { body }),
          signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), options.signal]),
        });
        return await answerOf(answer, { url, nowMs: options.now() });
      } catch (error) {
        throw new AcmeFault(`${hostOf(url)} does not answer (${codeOf(error)})`);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

async function answerOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { url, nowMs }: { url: string; nowMs: number },
): Promise<AcmeAnswer> {
  const header = (name: string) => [headers[name] ?? []].flat()[0] ?? null;
  return {
    status: statusCode,
    text: await body.text(),
    nonce: header('replay-nonce'),
    location: locationOf(header('location'), url),
    retryAfterMs: retryAfterMs(header('retry-after'), nowMs),
  };
}

/** A location as the ACME server wrote it, or completed if it is relative; null for anything but https. */
function locationOf(written: string | null, url: string): string | null {
  if (written === null || !URL.canParse(written, url)) return null;
  const { protocol, href } = new URL(written, url);
  if (protocol !== 'https:') return null;
  return URL.canParse(written) ? written : href;
}

/** The host of a URL that an ACME server may have written. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'a URL of the ACME server';
}

/** The document of an answer with status 2xx; throws an AcmeFault with the server's words otherwise. */
export function documentOf<T extends TSchema>(
  schema: T,
  { url, answer }: { url: string; answer: AcmeAnswer },
): Static<T> {
  demandSuccess({ url, answer });
  const json = parseStrictJson(answer.text);
  if (json.ok && Value.Check(schema, json.value)) return json.value;
  throw new AcmeFault(`${url} did not answer as an ACME server does`);
}

export function demandSuccess({ url, answer }: { url: string; answer: AcmeAnswer }): void {
  if (answer.status >= 200 && answer.status < 300) return;
  const words = wordsOf(problemOf(answer)) ?? `status ${answer.status}`;
  throw new AcmeFault(`${hostOf(url)}: ${words}`, { retryAfterMs: answer.retryAfterMs });
}

/** RFC 8555, section 6.5: the same request may be sent again with a new nonce. */
export function isBadNonce(answer: AcmeAnswer): boolean {
  return answer.status === 400 && problemOf(answer)?.type === BAD_NONCE;
}

function problemOf({ text }: AcmeAnswer): Problem | null {
  const json = parseStrictJson(text);
  return json.ok && Value.Check(Problem, json.value) ? json.value : null;
}

const WORDS_MAX_CHARS = 400;

/** What a problem says, shortened: the server's sentence, with the last part of its type. */
export function wordsOf(problem: Problem | null | undefined): string | null {
  const type = problem?.type?.split(':').at(-1);
  const words = [problem?.detail, type && `(${type})`].filter((part) => part).join(' ');
  return words === '' ? null : words.slice(0, WORDS_MAX_CHARS);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
