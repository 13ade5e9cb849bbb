import { type Dispatcher, request } from 'undici';
import { readUpTo } from './read-up-to.ts';

/** Largest answer unless the call sets another limit, in bytes. */
export const ANSWER_MAX_BYTES = 16 * 1024 * 1024;
/** Pause before the one retry, in milliseconds. */
const RETRY_PAUSE_MS = 500;

export type UpstreamAnswer =
  | { readonly kind: 'answer'; readonly text: string }
  /** 400: the source does not accept the request. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreachable'; readonly cause: string }
  /** The answer is not the service's: a captive portal, a proxy's page. */
  | { readonly kind: 'garbage'; readonly cause: string };

export interface UpstreamCall {
  readonly url: string;
  /** Sent by POST; a call without one is a GET. */
  readonly body?: string;
  /** Requested media type; default JSON. */
  readonly accept?: string;
  /** Largest answer, in bytes; default ANSWER_MAX_BYTES. */
  readonly maxBytes?: number;
  readonly timeoutMs: number;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly sleep: (ms: number) => Promise<void>;
}

/** One call, retried once after a transient fault. A timeout is not retried: it has cost enough. */
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
    const { bytes, isCut } = await readUpTo(body, maxBytes);
    if (isCut) return { kind: 'garbage', cause: `more than ${maxBytes} bytes` };
    return classify(statusCode, bytes.toString('utf8'));
  } catch (error) {
    return { kind: 'unreachable', cause: causeOf(error), timedOut: timeout.aborted };
  }
}

/** Redirects are not followed: they may lead anywhere, and count as an answer that is not the service's. */
function classify(statusCode: number, text: string): OnceAnswer {
  if (statusCode === 200) return { kind: 'answer', text };
  if (statusCode === 400) return { kind: 'refused' };
  if (statusCode === 404) return { kind: 'absent' };
  const cause = `status ${statusCode}`;
  if (statusCode === 429 || statusCode >= 500) return { kind: 'unreachable', cause, timedOut: false };
  return { kind: 'garbage', cause };
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
