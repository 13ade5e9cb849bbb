import { gzipSync } from 'node:zlib';
import { PROBLEM_MEDIA_TYPE, PROBLEM_STATUS, Problem, type ProblemCode } from '@tidegate/protocol/problems';
import type { Environment } from '@tidegate/protocol/proxy-route';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import { errorCode } from '../platform/file-layer.ts';
import { proxyOption, wayTo } from '../platform/proxy.ts';

/** Longest wait for an ordinary answer. */
export const REQUEST_TIMEOUT_MS = 20_000;
/** Longest wait for E1: longer than the server's own limit of 30 s, so that no answer is given up too early. */
export const RENEW_TIMEOUT_MS = 45_000;
/** Largest ordinary answer: 200 commands of 64 KiB would be more, and the server sends fewer. */
export const ANSWER_MAX_BYTES = 8 * 1024 * 1024;
/** Longest Retry-After that is believed. */
const RETRY_AFTER_MAX_MS = 3_600_000;
const COMPRESS_FROM_BYTES = 16 * 1024;

export interface ServerRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** Bytes go out as they are (their digest matters); a function is called when the request goes out; the rest is JSON. */
  body?: unknown;
  timeoutMs?: number;
  maxAnswerBytes?: number;
  /** E1: a connection of its own, so that no HTTP library repeats the request on a stale one. */
  ownConnection?: boolean;
}

export type ServerAnswer =
  /** `dateMs`: the server's clock, in whole seconds, when it says so. */
  | { kind: 'ok'; status: number; body: unknown; dateMs: number | null }
  /** One of our own JSON error codes; only these are believed (design reading 9). */
  | { kind: 'problem'; status: number; code: ProblemCode; detail: string; retryAfterMs: number | null }
  /** No answer, or one that is not from our server: a proxy's page, a redirect, broken JSON. */
  | { kind: 'unreachable'; detail: string; retryAfterMs: number | null };

export interface ServerClient {
  request(request: ServerRequest): Promise<ServerAnswer>;
}

export type ServerUrl = { ok: true; url: string } | { ok: false; detail: string };

/** T1: plain HTTP exposes the tokens on the network, so the operator must allow it, except for loopback addresses. */
export function checkServerUrl(text: string, allowInsecureHttp: boolean): ServerUrl {
  if (!URL.canParse(text)) return { ok: false, detail: `"${text}" is not a URL` };
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return { ok: false, detail: `"${text}" is not an https:// URL` };
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return { ok: false, detail: 'the server URL must not hold a user name, a query or a fragment' };
  }
  if (url.protocol === 'http:' && !isLoopback(url) && !allowInsecureHttp) {
    return {
      ok: false,
      detail: `${url.origin} is not encrypted: tokens could be read on the way. Use https://, or allow http:// for a test with --allow-insecure-http`,
    };
  }
  return { ok: true, url: `${url.origin}${url.pathname.replace(/\/+$/, '')}` };
}

/** Compares the host as parsed, which is the one contacted: exact names, no prefixes or suffixes. */
function isLoopback({ hostname }: URL): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
  );
}

/** A client for one server. It never follows redirects and never repeats a request. */
export function createServerClient(options: {
  baseUrl: string;
  fetch?: typeof fetch;
  env?: Environment;
  /** The certificates that alone vouch for the server; the public ones when null or absent. */
  ca?: string | null;
}): ServerClient {
  const send = options.fetch ?? fetch;
  const { baseUrl, ca = null } = options;
  const route = proxyOption(baseUrl, options.env);
  if (route === null) {
    const answer = unreachable(
      `no way to ${baseUrl}: the proxy variable for it names no http:// or https:// proxy`,
    );
    return { request: async () => answer };
  }
  const way = wayTo(route, ca);
  return { request: (request) => ask(send, { baseUrl, way }, request) };
}

async function ask(
  send: typeof fetch,
  { baseUrl, way }: { baseUrl: string; way: object },
  request: ServerRequest,
): Promise<ServerAnswer> {
  const maxBytes = request.maxAnswerBytes ?? ANSWER_MAX_BYTES;
  try {
    const response = await send(`${baseUrl}${request.path}`, {
      ...way,
      method: request.method,
      redirect: 'manual',
      ...(request.ownConnection ? { keepalive: false } : {}),
      signal: AbortSignal.timeout(request.timeoutMs ?? REQUEST_TIMEOUT_MS),
      ...encodeBody(request),
    });
    const bytes = await readBounded(response, maxBytes);
    if (bytes === null) return unreachable(`the answer is larger than ${maxBytes} bytes`);
    return classify(response, bytes);
  } catch (error) {
    return unreachable(`no answer from ${baseUrl} (${causeOf(error)})`);
  }
}

function encodeBody(request: ServerRequest): {
  headers: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
} {
  const headers: Record<string, string> = { accept: 'application/json', ...request.headers };
  if (request.ownConnection) headers.connection = 'close';
  if (request.body === undefined) return { headers };
  const body = typeof request.body === 'function' ? request.body() : request.body;
  const bytes =
    body instanceof Uint8Array ? new Uint8Array(body) : new TextEncoder().encode(JSON.stringify(body));
  headers['content-type'] = 'application/json';
  if (bytes.length < COMPRESS_FROM_BYTES) return { headers, body: bytes };
  headers['content-encoding'] = 'gzip';
  return { headers, body: new Uint8Array(gzipSync(bytes)) };
}

async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array | null> {
  if (response.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    length += chunk.length;
    if (length > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function classify(response: Response, bytes: Uint8Array): ServerAnswer {
  const { status } = response;
  const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
  const mediaType = (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (status >= 200 && status < 300) {
    const date = Date.parse(response.headers.get('date') ?? '');
    const dateMs = Number.isNaN(date) ? null : date;
    if (status === 204 || bytes.length === 0) return { kind: 'ok', status, body: null, dateMs };
    if (mediaType !== 'application/json') {
      return unreachable(`${status} with ${mediaType || 'no media type'}: this is not our server`);
    }
    const parsed = parseStrictJson(bytes);
    return parsed.ok
      ? { kind: 'ok', status, body: parsed.value, dateMs }
      : unreachable(`an answer that ${parsed.reason}`);
  }
  const problem = mediaType === PROBLEM_MEDIA_TYPE ? readProblem(bytes, status) : null;
  if (problem !== null) return { kind: 'problem', status, ...problem, retryAfterMs };
  return unreachable(`${status} that is not one of our errors (a proxy?)`, retryAfterMs);
}

function readProblem(bytes: Uint8Array, status: number): { code: ProblemCode; detail: string } | null {
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok || !Check(Problem, parsed.value)) return null;
  const { code, detail } = parsed.value;
  if (!isProblemCode(code) || PROBLEM_STATUS[code] !== status) return null;
  return { code, detail: detail.slice(0, 500) };
}

function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(PROBLEM_STATUS, code);
}

/** Seconds or a date (RFC 9110 section 10.2.3); null for anything else. */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS) : null;
}

function unreachable(detail: string, retryAfterMs: number | null = null): ServerAnswer {
  return { kind: 'unreachable', detail, retryAfterMs };
}

function causeOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? errorCode(error.cause) : errorCode(error);
}
