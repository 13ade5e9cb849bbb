import { packTar, type TarEntry } from '@tidegate/support/tar';

/**
 * Returns a ustar archive: the same bytes for the same entries, in whatever order they are given. Throws if a path or target
 * is longer than ustar allows, or given twice.
 */
export function tarOf(entries: readonly TarEntry[], epochSeconds: number): Buffer {
  const sorted = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const twice = sorted.find(({ path }, index) => sorted[index + 1]?.path === path);
  if (twice !== undefined) throw new Error(`${twice.path} is in the archive twice`);
  return packTar(sorted, epochSeconds);
}
