/** Most tags of one file name: a manylinux wheel for several interpreters has some dozens. */
const TAGS_MAX = 1_000;

/**
 * Whether an installed wheel came from a file of that name, by what its WHEEL file says (binary distribution format):
 * the same tags and the same build. Two files of one version differ in one of them.
 */
export function isFileOf(wheel: string, filename: string): boolean {
  const parts = filename.replace(/\.whl$/, '').split('-');
  const [platforms = '', abis = '', pythons = ''] = parts.toReversed();
  const build = parts.length === 6 ? (parts[2] ?? '') : '';
  const named = tagsOf({ pythons, abis, platforms });
  const stated = new Set(valuesOf(wheel, 'Tag'));
  if (named === null || stated.size !== named.size || (valuesOf(wheel, 'Build')[0] ?? '') !== build)
    return false;
  return [...named].every((tag) => stated.has(tag));
}

/** A file name has its tags compressed: `py2.py3-none-any` are two. Null where there are too many. */
function tagsOf(of: { pythons: string; abis: string; platforms: string }): ReadonlySet<string> | null {
  const [pythons, abis, platforms] = [of.pythons, of.abis, of.platforms].map((text) => text.split('.'));
  const tags = new Set<string>();
  if (!pythons || !abis || !platforms || pythons.length * abis.length * platforms.length > TAGS_MAX)
    return null;
  for (const python of pythons) {
    for (const abi of abis) {
      for (const platform of platforms) tags.add(`${python}-${abi}-${platform}`);
    }
  }
  return tags;
}

function valuesOf(text: string, key: string): string[] {
  const start = `${key}:`;
  return text
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith(start) ? line.slice(start.length).trim() : []));
}
