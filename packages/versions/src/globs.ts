import { canonicalName } from './names.ts';
import type { Ecosystem } from './osv-ecosystems.ts';

/** A name in which `*` matches any run of characters; other shell wildcards are refused. */
export const GLOB_PATTERN = '^[A-Za-z0-9@/._+~:*-]+$';

/**
 * Whether a package name matches a glob, in either case. Each part between two stars is searched once, from the
 * end of the previous one. Without backtracking, time is at most pattern length times name length.
 */
export function matchesGlob(glob: string, name: string): boolean {
  const text = name.toLowerCase();
  const [first = '', ...others] = glob.toLowerCase().split('*');
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || text.length < first.length + last.length) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found === -1 || found + part.length > end) return false;
    at = found + part.length;
  }
  return text.endsWith(last);
}

/** The first glob that matches a package; both are normalised, so that no spelling evades it. */
export function globOfPackage(
  globs: readonly string[],
  { ecosystem, name }: { ecosystem: Ecosystem; name: string },
): string | undefined {
  const called = canonicalName(ecosystem, name);
  return globs.find((glob) => matchesGlob(canonicalName(ecosystem, glob), called));
}
