/** Words of a field, separated by spaces, commas or lines, each once. */
export function wordsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))];
}
