const CHECKED: unique symbol = Symbol('checked path');

/** A path of the API in its one spelling. Only `readApiPath` makes one: what was judged is what is called. */
export interface ApiPath {
  readonly [CHECKED]: true;
  /** Decoded once, as the server routes it: scopes are held against this. */
  readonly pathname: string;
  /** Path and query as they are sent. */
  readonly target: string;
}

export type ApiPathResult =
  | { readonly ok: true; readonly path: ApiPath }
  | { readonly ok: false; readonly detail: string };

/** Longest path with its query, in characters. */
export const API_PATH_MAX_CHARS = 8_000;
/** RFC 3986 without the fragment: everything else is written in percent codes. */
const PRINTABLE = /^[!"$-~]+$/;

/**
 * Reads a path that a page or a capability file names. Percent codes are decoded once; where anything is left that
 * another reader would take for something else (a percent sign, a slash or backslash from a code, an empty or dot
 * segment, a control character, another Unicode form) it is refused. Never throws.
 */
export function readApiPath(text: string): ApiPathResult {
  if (text.length > API_PATH_MAX_CHARS) return refuse(`is longer than ${API_PATH_MAX_CHARS} characters`);
  if (!PRINTABLE.test(text)) return refuse('has characters that have to be percent codes, or a fragment');
  const end = text.indexOf('?');
  const pathname = plainPath(end === -1 ? text : text.slice(0, end));
  if (pathname === null) return refuse('is not a path in one plain spelling');
  if (!/^\/(?:api\/|logs\/client-error$)/.test(pathname)) return refuse('is not one of the API');
  const target = pathname.split('/').map(encodeURIComponent).join('/');
  const query = end === -1 ? '' : text.slice(end);
  return { ok: true, path: { [CHECKED]: true, pathname, target: target + query } };
}

/** The path decoded once; null where it has more than one reading, or does not begin with a slash. */
export function plainPath(written: string): string | null {
  const [root, ...segments] = written.split('/').map(decoded);
  return root === '' && segments.length > 0 && !segments.includes(null) ? `/${segments.join('/')}` : null;
}

/** The same of a path that the shell itself names. Throws where it is no such path. */
export function apiPath(text: string): ApiPath {
  const read = readApiPath(text);
  if (!read.ok) throw new Error(`The path ${read.detail}`);
  return read.path;
}

/** A segment decoded once; null where it has more than one reading. Only the first of a path is empty. */
function decoded(written: string, index: number): string | null {
  if (written === '') return index === 0 ? '' : null;
  const segment = decodeOnce(written);
  if (segment === null || segment === '.' || segment === '..') return null;
  const isPlain = !/[%/\\?#]|\p{C}|\p{Z}/u.test(segment) && segment.normalize('NFKC') === segment;
  return isPlain ? segment : null;
}

function decodeOnce(written: string): string | null {
  try {
    return decodeURIComponent(written);
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

function refuse(detail: string): ApiPathResult {
  return { ok: false, detail };
}
