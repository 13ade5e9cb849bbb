const PAGES: Readonly<Record<string, string>> = { update: '/updates', host: '/hosts', command: '/commands' };
const ID = /^\/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The page of the console that a link names: `tidegate://update/ID`, `host` or `command`. Null for any other text: links
 * come from mails and web pages, so they open no other page and have no query.
 */
export function pageOfLink(link: string): string | null {
  if (!URL.canParse(link)) return null;
  const { protocol, host, pathname, search, hash, username, password } = new URL(link);
  const isPlain = [search, hash, username, password].every((part) => part === '');
  if (protocol !== 'tidegate:' || !isPlain || !Object.hasOwn(PAGES, host) || !ID.test(pathname)) return null;
  return `${PAGES[host]}${pathname}`;
}
