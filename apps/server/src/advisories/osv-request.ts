import { type Dispatcher, request } from 'undici';

/** Largest answer that is read, in bytes; the API's own soft limit for a batch is 10 MB. */
export const ANSWER_MAX_BYTES = 16 * 1024 * 1024;
/** Pause before the one retry, in milliseconds. */
const RETRY_PAUSE_MS = 500;

export type OsvAnswer =
  | { readonly kind: 'answer'; readonly text: string }
  /** 400: the request as it stands is not acceptable to the source. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreachable'; readonly cause: string }
  /** Something answered that is not the API: a captive portal, a proxy's page. */
  | { readonly kind: 'garbage'; readonly cause: string };

export interface OsvCall {
  readonly url: string;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly sleep: (ms: number) => Promise<void>;
}

/** One call with one retry after a fault that may pass. A timeout is not tried again: it has cost enough. */
export async function callOsv(call: OsvCall): Promise<OsvAnswer> {
  const first = await callOnce(call);
  if (first.kind !== 'unreachable' || first.timedOut || call.signal.aborted) return first;
  await call.sleep(RETRY_PAUSE_MS);
  return callOnce(call);
}

type OnceAnswer =
  | Exclude<OsvAnswer, { kind: 'unreachable' }>
  | { kind: 'unreachable'; cause: string; timedOut: boolean };

async function callOnce(call: OsvCall): Promise<OnceAnswer> {
  const timeout = AbortSignal.timeout(call.timeoutMs);
  try {
    const { statusCode, body } = await request(call.url, {
      method: call.body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      ...(call.body === undefined ? {} : { body: call.body }),
      dispatcher: call.dispatcher,
      signal: AbortSignal.any([timeout, call.signal]),
      headersTimeout: call.timeoutMs,
      bodyTimeout: call.timeoutMs,
    });
    const text = await readBounded(body);
    if (text === null) return { kind: 'garbage', cause: `more than ${ANSWER_MAX_BYTES} bytes` };
    return classify(statusCode, text);
  } catch (error) {
    return { kind: 'unreachable', cause: causeOf(error), timedOut: timeout.aborted };
  }
}

/** Redirects are not followed: they count as an answer of something that is not the API. */
function classify(statusCode: number, text: string): OnceAnswer {
  if (statusCode === 200) return { kind: 'answer', text };
  if (statusCode === 400) return { kind: 'refused' };
  if (statusCode === 404) return { kind: 'absent' };
  const cause = `status ${statusCode}`;
  if (statusCode === 429 || statusCode >= 500) return { kind: 'unreachable', cause, timedOut: false };
  return { kind: 'garbage', cause };
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (bytes > ANSWER_MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
