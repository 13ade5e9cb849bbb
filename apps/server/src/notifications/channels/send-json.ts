import { type Dispatcher, request } from 'undici';
import { readUpTo } from '../../platform/read-up-to.ts';
import { retryAfterMs } from '../../platform/retry-after.ts';
import { connectionFault } from './connection-faults.ts';
import type { SenderDeps, SendOutcome } from './message.ts';
import { redact } from './redact.ts';

/** For one attempt in all, in milliseconds. */
export const SEND_TIMEOUT_MS = 15_000;
/** Longest wait that a receiver can ask for, in milliseconds. */
const RETRY_AFTER_MAX_MS = 86_400_000;
/** What is read of an answer, in bytes. */
const ANSWER_MAX_BYTES = 4_096;

export interface JsonCall {
  readonly url: string;
  readonly method?: 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON text, the bytes that are sent. */
  readonly body: string;
  readonly secrets: readonly (string | null)[];
  /** The wait, in milliseconds, that the service names in its answer in place of Retry-After. */
  readonly waitMsOf?: (answer: string) => number | null;
}

/** Sends once. Follows no redirect: it may lead anywhere. */
export async function sendJson(call: JsonCall, deps: SenderDeps): Promise<SendOutcome> {
  const { host } = new URL(call.url);
  const signal = AbortSignal.any([AbortSignal.timeout(SEND_TIMEOUT_MS), deps.signal]);
  let response: Dispatcher.ResponseData;
  try {
    response = await request(call.url, {
      method: call.method ?? 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Tidegate', ...call.headers },
      body: call.body,
      dispatcher: deps.outgoing.dispatcher,
      signal,
    });
  } catch (error) {
    return { kind: 'failed', ...connectionFault(error, host), answer: null, retryAfterMs: null };
  }
  const text = await startOf(response.body);
  const status = response.statusCode;
  const words = redact(text, call.secrets);
  const answer = redact(words === '' ? `${status}` : `${status}: ${words}`, []);
  if (status >= 200 && status < 300) return { kind: 'delivered', answer };
  const { reason, isPermanent } = statusFault(status, host);
  const said = words === '' ? '' : ` It says: ${words}`;
  const [header = null] = [response.headers['retry-after'] ?? []].flat();
  const waitMs = retryAfterMs(header, deps.now()) ?? call.waitMsOf?.(text) ?? null;
  return {
    ...{ kind: 'failed', isPermanent, reason: redact(`${reason}${said}`, []), answer },
    retryAfterMs: waitMs === null ? null : Math.min(Math.max(waitMs, 0), RETRY_AFTER_MAX_MS),
  };
}

function statusFault(status: number, host: string): { reason: string; isPermanent: boolean } {
  const permanent = (reason: string) => ({ reason: `${host} ${reason}`, isPermanent: true });
  const passing = (reason: string) => ({ reason: `${host} ${reason}`, isPermanent: false });
  if (status < 400)
    return permanent(`redirects (${status}), which is not followed. Enter the final address.`);
  if (status === 401) return permanent('refuses the credentials (401). Enter them again.');
  if (status === 403) return permanent('does not allow this (403). Check the rights of the credentials.');
  if (status === 404) return permanent('knows no such address (404): it is misspelled, or was removed.');
  if (status === 410) return permanent('no longer accepts messages at this address (410).');
  if (status === 408 || status === 425) return passing(`did not take the message in time (${status}).`);
  if (status === 429) return passing('receives too many messages and asks to wait (429).');
  if (status >= 500) return passing(`is out of order (${status}).`);
  return permanent(`does not accept the message (${status}).`);
}

/** The answer is only shown: a broken one changes nothing about its status. */
async function startOf(body: AsyncIterable<Buffer>): Promise<string> {
  try {
    return (await readUpTo(body, ANSWER_MAX_BYTES)).bytes.toString('utf8');
  } catch {
    return '';
  }
}
