export type Sign = -1 | 0 | 1;

/** How one ecosystem orders its versions. One such object per ecosystem, registered in versions.ts. */
export type Order<Parsed> = {
  /** Parses a version; null when the ecosystem's rules cannot order it. Never throws. */
  parse: (text: string) => Parsed | null;
  /** A total order over what `parse` returns. */
  compare: (a: Parsed, b: Parsed) => Sign;
};

/** Compares runs of ASCII digits by value, at any length: `Number()` would round above 2^53. */
export function compareDigits(a: string, b: string): Sign {
  const left = withoutLeadingZeros(a);
  const right = withoutLeadingZeros(b);
  if (left.length !== right.length) return left.length < right.length ? -1 : 1;
  return compareText(left, right);
}

export function withoutLeadingZeros(digits: string): string {
  let start = 0;
  while (digits.charCodeAt(start) === 48) start += 1;
  return start === 0 ? digits : digits.slice(start);
}

export function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at); // NaN past the end
  return code >= 48 && code <= 57;
}

/** Compares by code unit, which for the ASCII that versions consist of is by byte. */
export function compareText(a: string, b: string): Sign {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

export function signOf(difference: number): Sign {
  if (difference === 0) return 0;
  return difference < 0 ? -1 : 1;
}
