/** Known vulnerabilities of a version, by id; null: not known. */
export type Known = ReadonlySet<string> | null;

export type SmallestFix =
  /** The installed version has no known vulnerability, or no version is better. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'fix'; readonly version: string };

/**
 * The smallest version that fixes what is known: of the versions that bring nothing known that the installed one does not
 * have, it has the fewest of its vulnerabilities, and is the first of those. What is not known about a version is never
 * read as "none": such a version is no fix. `candidates` rise.
 */
export function smallestFix(
  installed: Known,
  candidates: readonly { readonly version: string; readonly known: Known }[],
): SmallestFix {
  if (installed === null) return { kind: 'unknown' };
  let best: { version: string; left: number } | null = null;
  for (const { version, known } of candidates) {
    if (known === null || [...known].some((id) => !installed.has(id))) continue;
    if (known.size < (best?.left ?? installed.size)) best = { version, left: known.size };
  }
  return best === null ? { kind: 'none' } : { kind: 'fix', version: best.version };
}
