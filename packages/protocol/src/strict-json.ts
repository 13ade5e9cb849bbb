/** Deepest nesting of arrays and objects that is read. */
export const JSON_MAX_DEPTH = 32;

/** Most members of all objects together, unless the caller allows fewer. */
export const JSON_MAX_KEYS = 1_000_000;
/** Most members and elements of all objects and arrays together, unless the caller allows fewer. */
export const JSON_MAX_VALUES = 4_000_000;

export interface JsonLimits {
  maxKeys: number;
  maxValues: number;
}

export type StrictJson = { ok: true; value: unknown } | { ok: false; reason: string };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const DEFAULT_LIMITS: JsonLimits = { maxKeys: JSON_MAX_KEYS, maxValues: JSON_MAX_VALUES };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses JSON as RFC 8259 says and refuses what parsers disagree on: duplicate keys, `__proto__`, nesting past
 * `JSON_MAX_DEPTH`, invalid UTF-8, a byte order mark, U+0000, unpaired surrogates and numbers that are not finite.
 * More keys or values than `limits` allows are refused before any of them is built. Never throws. Time is linear in
 * the length of the text up to the first limit that it passes.
 */
export function parseStrictJson(
  source: string | Uint8Array,
  limits: JsonLimits = DEFAULT_LIMITS,
): StrictJson {
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
  const shape = scan(text, limits);
  if (shape.fault !== null) return { ok: false, reason: shape.fault };
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

/** Counts the colons outside of strings, one for each member; stops at the first limit that the text passes. */
function scan(text: string, { maxKeys, maxValues }: JsonLimits): { colons: number; fault: string | null } {
  let colons = 0;
  let depth = 0;
  // A container has one more value than commas; an empty one counts as if it had a value.
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfString(text, i);
      if (i < 0) break;
    } else if (c === COLON) {
      if (++colons > maxKeys) return { colons, fault: `has more than ${maxKeys} keys` };
    } else if (c === COMMA) {
      if (++values > maxValues) return { colons, fault: `has more than ${maxValues} values` };
    } else if ((c | 0x20) === 0x7b) {
      // "[" and "{" differ in one bit, and so do "]" and "}".
      if (++depth > JSON_MAX_DEPTH)
        return { colons, fault: `is nested deeper than ${JSON_MAX_DEPTH} levels` };
      if (++values > maxValues) return { colons, fault: `has more than ${maxValues} values` };
    } else if ((c | 0x20) === 0x7d) {
      depth--;
    }
  }
  return { colons, fault: null };
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
