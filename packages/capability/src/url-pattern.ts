import { hostFault } from './authority.ts';
import { type Component, componentMatches, readComponent, type Splitting } from './component.ts';
import { Unsupported } from './expression.ts';

const COMPONENTS = [
  'protocol',
  'username',
  'password',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;
type ComponentName = (typeof COMPONENTS)[number];

/** Longest pattern, and longest URL that is held against one: `matchesUrl` is linear in both. */
const MAX_PATTERN = 2_048;
export const MAX_URL = 16_384;
const SPECIAL_SCHEMES = ['http', 'https', 'ws', 'wss', 'ftp', 'file'];

/** The components of a URL as a URL pattern sees them: without `:`, `?` and `#`. */
export type UrlParts = Readonly<Record<ComponentName, string>>;

export interface UrlMatcher {
  readonly source: string;
  readonly components: readonly (readonly [ComponentName, Component])[];
}

export type UrlMatcherResult =
  | { readonly ok: true; readonly matcher: UrlMatcher }
  | { readonly ok: false; readonly fault: string };

/**
 * Reads a URL pattern of `remote.urls`: a constructor string of the URL Pattern standard without a base. An empty
 * search, an empty hash, and a path that is empty or `/` mean any.
 */
export function readUrlPattern(source: string): UrlMatcherResult {
  if (source.length > MAX_PATTERN) return { ok: false, fault: `is longer than ${MAX_PATTERN} characters` };
  const host = hostFault(source);
  if (host !== null) return { ok: false, fault: host };
  let pattern: URLPattern;
  try {
    pattern = new URLPattern(source);
  } catch {
    return {
      ok: false,
      fault: 'is no URL pattern; allowed is a whole URL with its scheme, as "https://*.example.com"',
    };
  }
  const { pathname, search, hash } = pattern;
  const anyPath = pathname === '' || pathname === '/';
  try {
    const components = readComponents({
      ...partsOfPattern(pattern),
      pathname: anyPath ? '*' : pathname,
      search: search === '' ? '*' : search,
      hash: hash === '' ? '*' : hash,
    });
    return { ok: true, matcher: { source, components } };
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    return { ok: false, fault: `cannot be matched safely: it ${error.message}` };
  }
}

/** The matchers of the components of a pattern, as they are. Throws `Unsupported`, as `readComponent` does. */
export function readComponents(pattern: UrlParts): UrlMatcher['components'] {
  const protocol = readComponent(pattern.protocol, { delimiter: '', prefix: '' });
  const isStandard = SPECIAL_SCHEMES.some((scheme) => componentMatches(protocol, scheme));
  return COMPONENTS.map(
    (name) => [name, readComponent(pattern[name], splittingOf(name, isStandard))] as const,
  );
}

export function matchesUrl(components: UrlMatcher['components'], url: UrlParts): boolean {
  return components.every(([name, component]) => componentMatches(component, url[name]));
}

/** The components of the URL of a document, or null for a text that is none, or too long to be held against patterns. */
export function partsOfUrl(text: string): UrlParts | null {
  const url = text.length > MAX_URL ? null : URL.parse(text);
  if (url === null || url.href.length > MAX_URL) return null;
  const { username, password, hostname, port, pathname } = url;
  const [protocol, search, hash] = [url.protocol.slice(0, -1), url.search.slice(1), url.hash.slice(1)];
  return { protocol, username, password, hostname, port, pathname, search, hash };
}

/** The component patterns of a `URLPattern`, which answers them by getters. */
export function partsOfPattern(pattern: UrlParts): UrlParts {
  const { protocol, username, password, hostname, port, pathname, search, hash } = pattern;
  return { protocol, username, password, hostname, port, pathname, search, hash };
}

function splittingOf(name: ComponentName, isStandard: boolean): Splitting {
  if (name === 'hostname') return { delimiter: '.', prefix: '' };
  // A path of a scheme that has no hosts, as of `data:`, is one piece.
  if (name === 'pathname' && isStandard) return { delimiter: '/', prefix: '/' };
  return { delimiter: '', prefix: '' };
}
