const FIRST_STRONG = '\u2068';
const END = '\u2069';
/** Letters that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** Marks that turn the direction of what follows them: embeddings, overrides, isolates. */
const MARK = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** In place of a mark that has no partner, so that its place is seen. */
const REPLACEMENT = '\ufffd';

/**
 * A name within a sentence that is not HTML: a toast, a title, a label. Its letters and marks turn the direction of
 * nothing around it (Unicode Standard Annex 9, isolates). Text that turns nothing is returned as it is. In HTML use `bdi`.
 */
export function isolated(text: string): string {
  const safe = withoutLoneMarks(text);
  return safe !== text || RIGHT_TO_LEFT.test(safe) ? `${FIRST_STRONG}${safe}${END}` : text;
}

/** The text with every isolate closed and no other mark: a sentence may be part of another, and may have been cut. */
export function withoutLoneMarks(text: string): string {
  let depth = 0;
  const safe = text.replaceAll(MARK, (mark) => {
    if (mark === FIRST_STRONG) {
      depth += 1;
      return mark;
    }
    if (mark === END && depth > 0) {
      depth -= 1;
      return mark;
    }
    return REPLACEMENT;
  });
  return safe + END.repeat(depth);
}

/** JSON with the marks of its texts as escapes: the same value, and what follows a text is where it belongs. */
export function withMarksEscaped(json: string): string {
  return json.replaceAll(MARK, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
