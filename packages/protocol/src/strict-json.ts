/** Deepest nesting of arrays and objects that is read. */
export const JSON_MAX_DEPTH = 32;

export type StrictJson = { ok: true; value: unknown } | { ok: false; reason: string };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses JSON as RFC 8259 says and refuses what parsers disagree on: duplicate keys, `__proto__`, nesting past
 * `JSON_MAX_DEPTH`, invalid UTF-8, a byte order mark, U+0000, unpaired surrogates and numbers that are not finite.
 * Never throws. Time is linear in the length of the text.
 */
export function parseStrictJson(source: string | Uint8Array): StrictJson {
  let text: string;
  if (typeof source === 'string') {
    text = source;
  } else {
    try {
      text = utf8.decode(source);
    } catch {
      return { ok: false, reason: 'is not valid UTF-8' };
    }
  }
  const shape = scan(text);
  if (shape.depth > JSON_MAX_DEPTH)
    return { ok: false, reason: `is nested deeper than ${JSON_MAX_DEPTH} levels` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: 'is not valid JSON' };
  }
  const walk: Walk = { keys: 0, fault: null, checkText: text.includes('\\u') };
  visit(value, walk);
  if (walk.fault) return { ok: false, reason: walk.fault };
  // The parser keeps the last of two equal keys: fewer keys in the value than colons in the text is a duplicate.
  if (walk.keys !== shape.colons) return { ok: false, reason: 'has a duplicate key' };
  return { ok: true, value };
}

/** Counts the colons outside of strings (one for each member) and the deepest nesting. */
function scan(text: string): { colons: number; depth: number } {
  let colons = 0;
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfString(text, i);
      if (i < 0) break;
    } else if (c === COLON) {
      colons++;
    } else if ((c | 0x20) === 0x7b) {
      // "[" and "{" differ in one bit, and so do "]" and "}".
      depth++;
      if (depth > deepest) deepest = depth;
    } else if ((c | 0x20) === 0x7d) {
      depth--;
    }
  }
  return { colons, depth: deepest };
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && text.charCodeAt(end - 1) === BACKSLASH) {
    let backslashes = 1;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) break;
    end = text.indexOf('"', end + 1);
  }
  return end;
}

interface Walk {
  keys: number;
  fault: string | null;
  checkText: boolean;
}

function visit(value: unknown, walk: Walk): void {
  if (typeof value === 'string') {
    if (walk.checkText) checkText(value, walk);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) walk.fault = 'has a number out of range';
  } else if (Array.isArray(value)) {
    for (const item of value) visit(item, walk);
  } else if (isMembers(value)) {
    // What JSON.parse makes inherits nothing that can be enumerated.
    for (const key in value) {
      walk.keys++;
      if (key === '__proto__') walk.fault = 'has the key "__proto__", which is not allowed';
      if (walk.checkText) checkText(key, walk);
      visit(value[key], walk);
    }
  }
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object';
}

function checkText(text: string, walk: Walk): void {
  if (text.includes('\u0000')) walk.fault = 'has U+0000 in a text';
  else if (!text.isWellFormed()) walk.fault = 'has an unpaired surrogate in a text';
}
