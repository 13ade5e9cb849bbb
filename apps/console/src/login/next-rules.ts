/** The place to go to after the login: a path of the console itself, never another site. */
export function placeAfterLogin(next: unknown): string {
  if (typeof next !== 'string') return '/';
  // One slash and no backslash, which browsers read as one: `//evil.example` and `/\evil.example` are other hosts.
  return /^\/(?![/\\])[^\\\s]*$/.test(next) && !next.startsWith('/login') ? next : '/';
}
