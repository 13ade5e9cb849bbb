import { proxyOption } from '../../platform/proxy.ts';
import type { HostPaths } from '../ecosystem.ts';
import { normaliseName } from './names-rules.ts';
import { type IndexFile, parseHtmlPage, parseJsonPage, withoutCredentials } from './parse-index-page.ts';
import type { Parsed } from './read-file.ts';

const PUBLIC_INDEX = 'https://pypi.org/simple';
export interface IndexLimits {
  pageTimeoutMs: number;
  pageMaxBytes: number;
}

/** The largest pages of the public index are about 20 MB. */
const LIMITS: IndexLimits = { pageTimeoutMs: 30_000, pageMaxBytes: 32 * 1024 * 1024 };
/** Unanswered requests in a row after which an index counts as down. */
const SILENCES_MAX = 3;
const NO_PROXY_ROUTE = 'the proxy variable for it names no http:// or https:// proxy';
const ACCEPTED = 'application/vnd.pypi.simple.v1+json, text/html;q=0.1';

/** The answers of an index; each project is requested once. */
export interface IndexClient {
  /** The URL shown as origin, without credentials. */
  readonly origin: string;
  /** The URL for pip; a secret when it contains credentials. */
  readonly url: string;
  /** The files of a project; empty where the index does not know it. Never throws. */
  files(name: string): Promise<Parsed<readonly IndexFile[]>>;
  /** The size of a file when the page does not state it. */
  sizeOf(file: IndexFile): Promise<Parsed<number>>;
}

/** Opens the index of the host: no redirects, no cookies, nothing of a user's configuration. */
export function openIndex(paths: HostPaths, limits: IndexLimits = LIMITS): IndexClient {
  const url = (paths.pypi.index ?? PUBLIC_INDEX).replace(/\/+$/, '');
  const shown = new URL(url);
  const { username, password } = shown;
  const origin = withoutCredentials(shown);
  const headers: Record<string, string> = { accept: ACCEPTED };
  if (username !== '' || password !== '') {
    const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    headers.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
  }
  const pages = new Map<string, Promise<Parsed<readonly IndexFile[]>>>();
  let silences = 0;

  async function read(project: string): Promise<Parsed<readonly IndexFile[]>> {
    if (silences >= SILENCES_MAX) return { ok: false, reason: `${origin} does not answer` };
    const source = { project, url: `${origin}/${project}/` };
    const answer = await get(source.url, headers, limits);
    if (!answer.ok) {
      silences += 1;
      return { ok: false, reason: `${origin} cannot be queried for ${project} (${answer.reason})` };
    }
    silences = 0;
    if (answer.value.status === 404) return { ok: true, value: [] };
    if (answer.value.status !== 200) {
      return { ok: false, reason: `${origin} answers ${answer.value.status} for ${project}` };
    }
    const { type, text } = answer.value;
    return type.includes('json') ? parseJsonPage(text, source) : parseHtmlPage(text, source);
  }

  return {
    origin,
    url,
    files: (name) => {
      const project = normaliseName(name);
      const page = pages.get(project) ?? read(project);
      pages.set(project, page);
      return page;
    },
    sizeOf: async (file) => {
      if (file.sizeBytes !== null) return { ok: true, value: file.sizeBytes };
      const own = new URL(file.url).origin === shown.origin ? headers : { accept: '*/*' };
      return readSize(file, own, limits);
    },
  };
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

async function get(
  url: string,
  headers: Record<string, string>,
  { pageTimeoutMs, pageMaxBytes }: IndexLimits,
): Promise<Parsed<Answer>> {
  const route = proxyOption(url);
  if (route === null) return { ok: false, reason: NO_PROXY_ROUTE };
  try {
    const response = await fetch(url, {
      ...route,
      ...{ headers, redirect: 'error', signal: AbortSignal.timeout(pageTimeoutMs) },
    });
    const text = await readBounded(response, pageMaxBytes);
    if (text === null) return { ok: false, reason: `over ${pageMaxBytes} bytes` };
    return {
      ok: true,
      value: { status: response.status, type: response.headers.get('content-type') ?? '', text },
    };
  } catch (error) {
    return { ok: false, reason: describe(error) };
  }
}

async function readBounded(response: Response, maxBytes: number): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (response.body === null) return '';
  for await (const chunk of response.body) {
    length += chunk.length;
    if (length > maxBytes) return null; // returning closes the connection
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function readSize(
  file: IndexFile,
  headers: Record<string, string>,
  { pageTimeoutMs }: IndexLimits,
): Promise<Parsed<number>> {
  const route = proxyOption(file.url);
  if (route === null) return { ok: false, reason: NO_PROXY_ROUTE };
  try {
    const response = await fetch(file.url, {
      ...route,
      ...{ method: 'HEAD', headers: { ...headers, 'accept-encoding': 'identity' }, redirect: 'error' },
      signal: AbortSignal.timeout(pageTimeoutMs),
    });
    const size = Number(response.headers.get('content-length') ?? 'absent');
    if (response.ok && Number.isSafeInteger(size)) return { ok: true, value: size };
    return { ok: false, reason: `the index does not report the size of ${file.filename}` };
  } catch (error) {
    return { ok: false, reason: `${file.filename} cannot be requested (${describe(error)})` };
  }
}

/** The kind of a failure; its message may hold the address. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const { cause } = error;
  const code =
    cause instanceof Error && 'code' in cause ? cause.code : 'code' in error ? error.code : error.name;
  return typeof code === 'string' ? code : error.name;
}
