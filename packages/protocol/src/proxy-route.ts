/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** How a request leaves this machine, as the variables of curl(1) say. */
export type ProxyRoute =
  | { kind: 'direct'; why: 'no variable' | 'this machine' | 'NO_PROXY' }
  /** `url` may hold a user name and a password: show `shownProxy(url)` instead. */
  | { kind: 'proxy'; url: string; variable: string }
  /** The variable names no http:// or https:// proxy. Its value is not repeated, as it may hold a password. */
  | { kind: 'invalid'; variable: string };

/** The variables that name a proxy or what goes around it, in the order in which they are read. */
export const PROXY_VARIABLES = [
  ...['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'],
  ...['all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY'],
] as const;

/** Entries of NO_PROXY that are read. */
const EXCEPTIONS_MAX = 1_000;

/**
 * Chooses the proxy for a URL: `https_proxy` or `http_proxy` by its scheme, then `all_proxy`, each in small letters
 * first; empty values count as absent. This machine is always called directly. Never throws.
 */
export function chooseProxy(url: URL, env: Environment): ProxyRoute {
  if (isThisMachine(url.hostname)) return { kind: 'direct', why: 'this machine' };
  const scheme = url.protocol.replace(':', '');
  const names = [`${scheme}_proxy`, `${scheme}_proxy`.toUpperCase(), 'all_proxy', 'ALL_PROXY'];
  const variable = names.find((name) => textOf(env, name) !== '');
  if (variable === undefined) return { kind: 'direct', why: 'no variable' };
  const exceptions = textOf(env, 'no_proxy') || textOf(env, 'NO_PROXY');
  if (isExcepted(url, exceptions)) return { kind: 'direct', why: 'NO_PROXY' };
  const value = textOf(env, variable);
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const proxy = URL.canParse(text) ? new URL(text) : null;
  if (proxy === null || !/^https?:$/.test(proxy.protocol) || proxy.hostname === '') {
    return { kind: 'invalid', variable };
  }
  return { kind: 'proxy', url: proxy.href, variable };
}

/** The address of a proxy without user name, password and path. */
export function shownProxy(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'a proxy';
}

/** localhost, 127.0.0.0/8 and ::1, as a URL spells them. */
function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function isExcepted(url: URL, exceptions: string): boolean {
  const host = url.hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const entries = exceptions.toLowerCase().split(/[\s,]+/, EXCEPTIONS_MAX);
  return entries.some((entry) => entry !== '' && excepts(entry, { host, port }));
}

/** `*`, a name with all below it, an address or a range of IPv4 addresses; the first three with or without a port. */
function excepts(entry: string, { host, port }: { host: string; port: string }): boolean {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(entry);
  const [, bare = entry, ownPort] = bracketed ?? /^([^:]+):(\d+)$/.exec(entry) ?? [];
  if (ownPort !== undefined && ownPort !== port) return false;
  if (bare === '*') return true;
  if (bare.includes('/')) return isInRange(host, bare);
  const name = bare.replace(/^\*?\./, '').replace(/\.$/, '');
  return name !== '' && (host === name || host.endsWith(`.${name}`));
}

function isInRange(host: string, range: string): boolean {
  const [network = '', length = ''] = range.split('/');
  const [address, base] = [ipv4(host), ipv4(network)];
  if (address === null || base === null || !/^\d{1,2}$/.test(length) || Number(length) > 32) return false;
  const size = 2 ** (32 - Number(length));
  return Math.floor(address / size) === Math.floor(base / size);
}

function ipv4(text: string): number | null {
  const parts = text.split('.').map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : 256));
  if (parts.length !== 4 || parts.some((part) => part > 255)) return null;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function textOf(env: Environment, name: string): string {
  return env[name]?.trim() ?? '';
}
