/** Of what the server found: after actions with a word that begins with the text, before those that only contain it. */
export const FOUND_RANK = 0.5;

/** How well an action fits the text, from 0 (not at all) to 1; each word has to be in its label or its group. */
export function rankOf(text: string, [label = '', group = '']: readonly string[]): number {
  const wanted = text.trim().toLowerCase();
  const name = label.toLowerCase();
  if (name.startsWith(wanted)) return 1;
  if (name.split(/\W+/).some((word) => word.startsWith(wanted))) return 0.8;
  const all = `${name} ${group.toLowerCase()}`;
  return wanted.split(/\s+/).every((word) => all.includes(word)) ? 0.3 : 0;
}
