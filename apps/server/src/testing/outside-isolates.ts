const OPENS = '\u2068';
const ENDS = '\u2069';

/** What of a text stands outside isolates; a text whose isolates do not fit each other is returned whole. */
export function outsideIsolates(text: string): string {
  let depth = 0;
  let outside = '';
  for (const char of text) {
    if (char === OPENS) depth += 1;
    else if (char === ENDS) {
      depth -= 1;
      if (depth < 0) return text;
    } else if (depth === 0) outside += char;
  }
  return depth === 0 ? outside : text;
}

/** Letters that are written from right to left, and marks that turn the direction of what follows them. */
export const TURNING = /[\u0590-\u08ff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
