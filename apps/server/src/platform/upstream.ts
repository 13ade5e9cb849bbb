import { type Dispatcher, request } from 'undici';

/** Largest answer that is read unless the call says otherwise, in bytes. */
export const ANSWER_MAX_BYTES = 16 * 1024 * 1024;
/** Pause before the one retry, in milliseconds. */
const RETRY_PAUSE_MS = 500;

export type UpstreamAnswer =
  | { readonly kind: 'answer'; readonly text: string }
  /** 400: the request as it stands is not acceptable to the source. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreachable'; readonly cause: string }
  /** Something answered that is not the service: a captive portal, a proxy's page. */
  | { readonly kind: 'garbage'; readonly cause: string };

export interface UpstreamCall {
  readonly url: string;
  /** Sent by POST; a call without one is a GET. */
  readonly body?: string;
  /** Media type that is asked for; JSON unless given. */
  readonly accept?: string;
  /** Largest answer, in bytes; ANSWER_MAX_BYTES unless given. */
  readonly maxBytes?: number;
  readonly timeoutMs: number;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly sleep: (ms: number) => Promise<void>;
}

/** One call with one retry after a fault that may pass. A timeout is not tried again: it has cost enough. */
export async function callUpstream(call: UpstreamCall): Promise<UpstreamAnswer> {
  const first = await callOnce(call);
  if (first.kind !== 'unreachable' || first.timedOut || call.signal.aborted) return first;
  await call.sleep(RETRY_PAUSE_MS);
  return callOnce(call);
}

type OnceAnswer =
  | Exclude<UpstreamAnswer, { kind: 'unreachable' }>
  | { kind: 'unreachable'; cause: string; timedOut: boolean };

async function callOnce(call: UpstreamCall): Promise<OnceAnswer> {
  const timeout = AbortSignal.timeout(call.timeoutMs);
  try {
    const { statusCode, body } = await request(call.url, {
      method: call.body === undefined ? 'GET' : 'POST',
      headers: { accept: call.accept ?? 'application/json', 'content-type': 'application/json' },
      ...(call.body === undefined ? {} : { body: call.body }),
      dispatcher: call.dispatcher,
      signal: AbortSignal.any([timeout, call.signal]),
      headersTimeout: call.timeoutMs,
      bodyTimeout: call.timeoutMs,
    });
    const { maxBytes = ANSWER_MAX_BYTES } = call;
    const text = await readBounded(body, maxBytes);
    if (text === null) return { kind: 'garbage', cause: `more than ${maxBytes} bytes` };
    return classify(statusCode, text);
  } catch (error) {
    return { kind: 'unreachable', cause: causeOf(error), timedOut: timeout.aborted };
  }
}

/** Redirects are not followed: they count as an answer of something that is not the service, and can lead nowhere. */
function classify(statusCode: number, text: string): OnceAnswer {
  if (statusCode === 200) return { kind: 'answer', text };
  if (statusCode === 400) return { kind: 'refused' };
  if (statusCode === 404) return { kind: 'absent' };
  const cause = `status ${statusCode}`;
  if (statusCode === 429 || statusCode >= 500) return { kind: 'unreachable', cause, timedOut: false };
  return { kind: 'garbage', cause };
}

async function readBounded(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop destroys the stream, and with it the connection.
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
