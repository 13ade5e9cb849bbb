/** Longest glob, in characters; matching takes at most that many steps for each character of a label. */
const MAX_GLOB = 256;

const SPECIAL = /[*?[]/;

/** One part of a glob. `any` is `*`, `parts` is `**` with the slash after it: nothing, or a run that ends in one. */
type Token =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'one' }
  | {
      readonly kind: 'class';
      readonly isExcept: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    }
  | { readonly kind: 'any' }
  | { readonly kind: 'parts' };

export interface Glob {
  readonly source: string;
  /** The label itself, where no part is special: it is then the only one that matches, and there are no tokens. */
  readonly literal: string | null;
  /** The ordinary characters before its first special part: most labels end here. */
  readonly prefix: string;
  readonly tokens: readonly Token[];
}

export type GlobResult =
  | { readonly ok: true; readonly glob: Glob }
  | { readonly ok: false; readonly fault: string };

/**
 * Reads a pattern of window or webview labels with the meaning of Rust's `glob` 0.3: `*` any run, `?` one character,
 * `[a-z]` and `[!a-z]`, `**` as a whole part between slashes. `*` and `?` cross slashes; braces and backslashes are
 * ordinary characters.
 */
export function parseGlob(source: string): GlobResult {
  if (source.length <= MAX_GLOB && !SPECIAL.test(source))
    return { ok: true, glob: { source, literal: source, prefix: source, tokens: [] } };
  const chars = [...source];
  if (chars.length > MAX_GLOB) return { ok: false, fault: `is longer than ${MAX_GLOB} characters` };
  const tokens: Token[] = [];
  for (let i = 0; i < chars.length; ) {
    const char = chars[i] ?? '';
    if (char === '[') {
      const close = closeOfClass(chars, i);
      if (close === null)
        return { ok: false, fault: '"[" has no "]", or nothing between; "[[]" is the character itself' };
      tokens.push(classOf(chars.slice(i + 1, close)));
      i = close + 1;
    } else if (char === '*') {
      const stars = countStars(chars, i);
      const fault = starFault(chars, { start: i, stars });
      if (fault !== null) return { ok: false, fault };
      tokens.push(stars === 2 ? { kind: 'parts' } : { kind: 'any' });
      i += stars === 2 && chars[i + 2] === '/' ? 3 : stars;
    } else {
      tokens.push(char === '?' ? { kind: 'one' } : { kind: 'char', char });
      i += 1;
    }
  }
  const prefix = prefixOf(tokens);
  return { ok: true, glob: { source, literal: null, prefix, tokens } };
}

/** Whether the whole label matches. A mismatch goes back to the last wildcard alone: earlier ones can add nothing. */
export function matchesGlob(glob: Glob, label: string): boolean {
  if (glob.literal !== null) return glob.literal === label;
  if (!label.startsWith(glob.prefix)) return false;
  const chars = [...label];
  const { tokens } = glob;
  let [token, at] = [0, 0];
  let [wildcard, wildcardAt] = [-1, 0];
  for (;;) {
    const current = tokens[token];
    if (current?.kind === 'any' || current?.kind === 'parts') {
      if (token === tokens.length - 1) return true;
      [wildcard, wildcardAt] = [token, at];
      token += 1;
    } else if (current === undefined && at === chars.length) {
      return true;
    } else if (current !== undefined && takes(current, chars[at])) {
      token += 1;
      at += 1;
    } else {
      const widened = widen(tokens[wildcard], chars, wildcardAt);
      if (widened === null) return false;
      wildcardAt = widened;
      [token, at] = [wildcard + 1, widened];
    }
  }
}

function prefixOf(tokens: readonly Token[]): string {
  let prefix = '';
  for (const token of tokens) {
    if (token.kind !== 'char') break;
    prefix += token.char;
  }
  return prefix;
}

function takes(token: Token, char: string | undefined): boolean {
  if (char === undefined) return false;
  switch (token.kind) {
    case 'char':
      return token.char === char;
    case 'one':
      return true;
    case 'class':
      return token.ranges.some(([low, high]) => within(char, low, high)) !== token.isExcept;
    case 'any':
    case 'parts':
      return false;
  }
}

/** Where the wildcard ends next when it takes more, or null when it has nothing left to take. */
function widen(wildcard: Token | undefined, chars: readonly string[], end: number): number | null {
  if (wildcard === undefined || end >= chars.length) return null;
  if (wildcard.kind === 'any') return end + 1;
  const slash = chars.indexOf('/', end);
  return slash < 0 ? null : slash + 1;
}

function within(char: string, low: string, high: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  return (low.codePointAt(0) ?? 0) <= code && code <= (high.codePointAt(0) ?? 0);
}

/** The index of the `]` that ends the class; the first character of a class is one of it, even `]`. */
function closeOfClass(chars: readonly string[], open: number): number | null {
  const first = chars[open + 1] === '!' ? open + 2 : open + 1;
  const close = chars.indexOf(']', first + 1);
  return close < 0 ? null : close;
}

function classOf(inside: readonly string[]): Token {
  const isExcept = inside[0] === '!';
  const chars = isExcept ? inside.slice(1) : inside;
  const ranges: [string, string][] = [];
  for (let i = 0; i < chars.length; ) {
    const [low = '', dash, high] = chars.slice(i, i + 3);
    const isRange = dash === '-' && high !== undefined;
    ranges.push([low, isRange ? high : low]);
    i += isRange ? 3 : 1;
  }
  return { kind: 'class', isExcept, ranges };
}

function countStars(chars: readonly string[], start: number): number {
  let end = start;
  while (chars[end] === '*') end += 1;
  return end - start;
}

function starFault(
  chars: readonly string[],
  { start, stars }: { start: number; stars: number },
): string | null {
  if (stars > 2) return '"***" is no wildcard; allowed are "*" and, as a whole part between slashes, "**"';
  const after = chars[start + 2];
  const isWholePart = (start === 0 || chars[start - 1] === '/') && (after === undefined || after === '/');
  return stars === 1 || isWholePart ? null : '"**" has to be a whole part between slashes, as in "a/**"';
}
