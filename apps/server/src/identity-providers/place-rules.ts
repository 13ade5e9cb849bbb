/** A path of the console to go to after a sign-in, never another site; anything else leads to the first page. */
export function placeAfter(next: string | undefined): string {
  // One slash and no backslash, which browsers read as one: `//evil.example` and `/\evil.example` are other hosts.
  return next !== undefined && /^\/(?![/\\])[!-[\]-~]*$/.test(next) && !next.startsWith('/login')
    ? next
    : '/';
}
