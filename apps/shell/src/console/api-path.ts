const CHECKED: unique symbol = Symbol('checked path');

/** A path of the API in normal form. Only `readApiPath` makes one, so that the checked path is the one called. */
export interface ApiPath {
  readonly [CHECKED]: true;
  /** Decoded once, as the server routes it; scopes are matched against this. */
  readonly pathname: string;
  /** Path and query as sent. */
  readonly target: string;
}

export type ApiPathResult =
  | { readonly ok: true; readonly path: ApiPath }
  | { readonly ok: false; readonly detail: string };

/** The longest path with its query, in characters. */
export const API_PATH_MAX_CHARS = 8_000;
/** RFC 3986 without the fragment: all other characters must be percent-encoded. */
const PRINTABLE = /^[!"$-~]+$/;

/**
 * Reads a path from a page or a capability file. Percent codes are decoded once; a path is refused if the result could
 * be read in another way (a percent sign, a slash or backslash from a code, an empty or dot segment, a control
 * character, another Unicode form). Never throws.
 */
export function readApiPath(text: string): ApiPathResult {
  if (text.length > API_PATH_MAX_CHARS) return refuse(`is longer than ${API_PATH_MAX_CHARS} characters`);
  if (!PRINTABLE.test(text)) return refuse('has a fragment, or characters that must be percent-encoded');
  const end = text.indexOf('?');
  const pathname = plainPath(end === -1 ? text : text.slice(0, end));
  if (pathname === null) return refuse('can be read in more than one way');
  if (!/^\/(?:api\/|logs\/client-error$)/.test(pathname)) return refuse('is not a path of the API');
  const target = pathname.split('/').map(encodeURIComponent).join('/');
  const query = end === -1 ? '' : text.slice(end);
  return { ok: true, path: { [CHECKED]: true, pathname, target: target + query } };
}

/** The path decoded once; null if it has more than one reading, or does not begin with a slash. */
export function plainPath(written: string): string | null {
  const [root, ...segments] = written.split('/').map(decoded);
  return root === '' && segments.length > 0 && !segments.includes(null) ? `/${segments.join('/')}` : null;
}

/** The same for a path of the shell itself. Throws if it is not such a path. */
export function apiPath(text: string): ApiPath {
  const read = readApiPath(text);
  if (!read.ok) throw new Error(`The path ${read.detail}`);
  return read.path;
}

/** A segment decoded once; null if it has more than one reading. Only the first segment of a path is empty. */
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
