import { pointTo } from './findings.ts';
import { MAX_DEPTH } from './values.ts';

/** Something wrong in the text itself, at an offset in it. */
export interface TextFault {
  readonly path: string;
  readonly message: string;
  readonly offset: number;
}

/** A text that could be read may still have faults: keys that are given twice. */
export type TextResult =
  | { readonly ok: true; readonly value: unknown; readonly faults: readonly TextFault[] }
  | { readonly ok: false; readonly faults: readonly TextFault[] };

/** Is told of every value of a text: its pointer and where it begins. */
export type ValueSeen = (path: string, offset: number) => void;

/**
 * Reads JSON as RFC 8259 says. Refuses what readers disagree on: duplicate keys, `__proto__`, unpaired surrogates,
 * nesting past `MAX_DEPTH`. Goes on after a duplicate key, so that all of them are found. Never throws; time is
 * linear in the length of the text.
 */
export function readJson(text: string, seen?: ValueSeen): TextResult {
  const reader = new JsonReader(text, seen);
  try {
    return { ok: true, value: reader.document(), faults: reader.faults };
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const syntax = { path: '', message: `is not JSON: ${error.message}`, offset: error.offset };
    return { ok: false, faults: [...reader.faults, syntax] };
  }
}

class SyntaxFault extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const MAX_FAULTS = 100;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

class JsonReader {
  readonly faults: TextFault[] = [];
  readonly #text: string;
  readonly #seen: ValueSeen | undefined;
  readonly #keys: (string | number)[] = [];
  #at = 0;

  constructor(text: string, seen: ValueSeen | undefined) {
    this.#text = text;
    this.#seen = seen;
  }

  path(): string {
    return this.#keys.reduce<string>(pointTo, '');
  }

  document(): unknown {
    const value = this.#value();
    this.#skip();
    if (this.#at < this.#text.length) throw this.#unexpected('the end of the file');
    return value;
  }

  #value(): unknown {
    this.#skip();
    this.#seen?.(this.path(), this.#at);
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object();
      case '[':
        return this.#list();
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.#open();
    let isFirst = true;
    while (!this.#closes('}', isFirst)) {
      const keyAt = this.#at;
      if (this.#text[keyAt] !== '"')
        throw this.#unexpected(isFirst ? 'a key in quotes or "}"' : 'a key in quotes');
      const key = this.#string();
      this.#skip();
      if (this.#text[this.#at] !== ':') throw this.#unexpected('":"');
      this.#at += 1;
      this.#keys.push(key);
      if (key === '__proto__') this.#fault('is not allowed as a key', keyAt);
      else if (Object.hasOwn(members, key))
        this.#fault('is given twice; a key stands once in an object', keyAt);
      const value = this.#value();
      if (key !== '__proto__') members[key] = value;
      this.#keys.pop();
      isFirst = false;
    }
    return members;
  }

  #list(): unknown[] {
    const items: unknown[] = [];
    this.#open();
    while (!this.#closes(']', items.length === 0)) {
      this.#keys.push(items.length);
      items.push(this.#value());
      this.#keys.pop();
    }
    return items;
  }

  #open(): void {
    if (this.#keys.length > MAX_DEPTH)
      throw new SyntaxFault(`is nested deeper than ${MAX_DEPTH} levels`, this.#at);
    this.#at += 1;
  }

  /** Steps over the closing bracket, or over the comma before the next item, which then begins here. */
  #closes(bracket: string, isFirst: boolean): boolean {
    this.#skip();
    const c = this.#text[this.#at];
    if (c === bracket) {
      this.#at += 1;
      return true;
    }
    if (isFirst) return false;
    if (c !== ',') throw this.#unexpected(`"," or "${bracket}"`);
    this.#at += 1;
    this.#skip();
    if (this.#text[this.#at] === bracket)
      throw new SyntaxFault(`expected another item after ",", found "${bracket}"`, this.#at);
    return false;
  }

  #string(): string {
    const start = this.#at;
    let isPlain = true;
    for (let i = start + 1; i < this.#text.length; i++) {
      const c = this.#text.charCodeAt(i);
      if (c === QUOTE) {
        this.#at = i + 1;
        return isPlain ? this.#text.slice(start + 1, i) : this.#unescape(start);
      }
      if (c < SPACE) throw new SyntaxFault('a control character in a string has to be escaped', i);
      if (c === BACKSLASH) i++;
      if (c === BACKSLASH || c >= 0xd800) isPlain = false;
    }
    throw new SyntaxFault('the string that begins here has no end', start);
  }

  #unescape(start: number): string {
    let text: unknown;
    try {
      text = JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      throw new SyntaxFault('has an escape that JSON does not know', start);
    }
    if (typeof text === 'string' && text.isWellFormed()) return text;
    throw new SyntaxFault('has an unpaired surrogate', start);
  }

  #number(): number {
    NUMBER.lastIndex = this.#at;
    const digits = NUMBER.exec(this.#text)?.[0];
    if (digits === undefined) throw this.#unexpected('a value');
    this.#at += digits.length;
    return Number(digits);
  }

  #word(word: string, value: boolean | null): boolean | null {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value');
    this.#at += word.length;
    return value;
  }

  #skip(): void {
    for (;;) {
      const c = this.#text.charCodeAt(this.#at);
      if (c !== SPACE && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
      this.#at += 1;
    }
  }

  #fault(message: string, offset: number): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push({ path: this.path(), message, offset });
  }

  #unexpected(expected: string): SyntaxFault {
    const c = this.#text.codePointAt(this.#at);
    const found = c === undefined ? 'the end of the file' : JSON.stringify(String.fromCodePoint(c));
    return new SyntaxFault(`expected ${expected}, found ${found}`, this.#at);
  }
}
