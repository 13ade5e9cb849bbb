/** Words of a field, separated by spaces, commas or lines, each once. */
export function wordsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))];
}

/** Hosts report these of themselves: no operator changes them. */
export function isReported(tag: string): boolean {
  return tag.startsWith('host.');
}

export function keyOf(tag: string): string {
  return tag.split('=', 1)[0] ?? tag;
}
