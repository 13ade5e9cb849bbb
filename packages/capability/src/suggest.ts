import { MAX_LENGTH } from './identifier.ts';

/** Maximum names compared with an unknown one; longer manifests are not searched completely. */
const MAX_COMPARED = 2_000;

/** The known name that is nearest to an unknown one, or null where none is near: a third of it may differ. */
export function nearest(unknown: string, known: Iterable<string>): string | null {
  if (unknown.length > MAX_LENGTH) return null;
  let best: string | null = null;
  let allowed = Math.max(1, Math.floor(unknown.length / 3));
  let compared = 0;
  for (const name of known) {
    if (compared++ >= MAX_COMPARED) break;
    if (Math.abs(name.length - unknown.length) > allowed || name.length > MAX_LENGTH) continue;
    const edits = editsBetween({ from: unknown.toLowerCase(), to: name.toLowerCase(), atMost: allowed });
    if (edits > allowed || (best !== null && edits === allowed)) continue;
    best = name;
    allowed = edits;
  }
  return best;
}

/** Levenshtein distance; stops counting above `atMost`. */
function editsBetween({ from: a, to: b, atMost }: { from: string; to: string; atMost: number }): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i++) {
    const row = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const change = (previous[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      row.push(Math.min(change, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
    if (Math.min(...row) > atMost) return atMost + 1;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
