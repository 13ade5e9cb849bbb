import { pointTo } from './findings.ts';
import type { ValueSeen } from './json.ts';

/**
 * Tells where the values of a TOML text stand. The text has to be one that `readToml` could read: nothing is checked
 * here a second time, and a place that is not understood is left out.
 */
export function seeToml(text: string, seen: ValueSeen): void {
  const scanner = new TomlScanner(text, seen);
  scanner.document();
}

const BARE = /[A-Za-z0-9_-]+/y;
const SPACE = /[ \t]*/y;
const COMMENT = /#[^\n]*/y;
const SCALAR = /[^,\]}#\r\n]*/y;

class TomlScanner {
  readonly #text: string;
  readonly #seen: ValueSeen;
  /** For each list of tables how many of its tables have begun. */
  readonly #tables = new Map<string, number>();
  #at = 0;

  constructor(text: string, seen: ValueSeen) {
    this.#text = text;
    this.#seen = seen;
  }

  document(): void {
    this.#seen('', 0);
    let table = '';
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      const before = this.#at;
      if (this.#text[this.#at] === '[') table = this.#header();
      else this.#member(table);
      if (this.#at === before) return;
    }
  }

  #header(): string {
    const start = this.#at;
    const isList = this.#text.startsWith('[[', start);
    this.#at += isList ? 2 : 1;
    let path = '';
    const keys = this.#keys();
    for (const [i, key] of keys.entries()) {
      path = pointTo(path, key);
      const count = this.#tables.get(path);
      if (isList && i === keys.length - 1) this.#tables.set(path, (count ?? 0) + 1);
      const index = isList && i === keys.length - 1 ? (count ?? 0) : count === undefined ? null : count - 1;
      if (index === 0) this.#seen(path, start);
      if (index !== null) path = pointTo(path, index);
    }
    this.#at += isList ? 2 : 1;
    this.#seen(path, start);
    return path;
  }

  #member(table: string): void {
    const start = this.#at;
    const keys = this.#keys();
    if (this.#text[this.#at] !== '=') return;
    this.#at += 1;
    let path = table;
    for (const key of keys.slice(0, -1)) {
      path = pointTo(path, key);
      this.#seen(path, start);
    }
    this.#take(SPACE);
    this.#value(pointTo(path, keys.at(-1) ?? ''));
  }

  #keys(): string[] {
    const keys: string[] = [];
    do {
      if (keys.length > 0) this.#at += 1;
      this.#take(SPACE);
      const quoted = this.#string();
      keys.push(quoted === null ? this.#take(BARE) : unquote(quoted));
      this.#take(SPACE);
    } while (this.#text[this.#at] === '.');
    return keys;
  }

  #value(path: string): void {
    this.#seen(path, this.#at);
    const c = this.#text[this.#at];
    if (c === '[') this.#items(']', (i) => this.#value(pointTo(path, i)));
    else if (c === '{') this.#items('}', () => this.#member(path));
    else if (this.#string() === null) this.#take(SCALAR);
  }

  #items(close: string, item: (i: number) => void): void {
    this.#at += 1;
    for (let i = 0; ; i++) {
      this.#skip();
      const before = this.#at;
      if (before >= this.#text.length) return;
      if (this.#text[before] === close) break;
      item(i);
      this.#skip();
      if (this.#text[this.#at] === ',') this.#at += 1;
      if (this.#at === before) return;
    }
    this.#at += 1;
  }

  #string(): string | null {
    const quote = this.#text.charAt(this.#at);
    if (quote !== '"' && quote !== "'") return null;
    const isLong = this.#text.startsWith(quote.repeat(3), this.#at);
    const mark = isLong ? quote.repeat(3) : quote;
    const start = this.#at;
    this.#at += mark.length;
    while (this.#at < this.#text.length && !this.#text.startsWith(mark, this.#at)) {
      this.#at += quote === '"' && this.#text[this.#at] === '\\' ? 2 : 1;
    }
    this.#at += mark.length;
    // A long string may end in one or two quotes of its own.
    while (isLong && this.#text[this.#at] === quote) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  /** White space, ends of lines and comments. */
  #skip(): void {
    for (;;) {
      const c = this.#text.charAt(this.#at);
      if (c === '#') this.#take(COMMENT);
      else if (c !== '' && ' \t\r\n'.includes(c)) this.#at += 1;
      else return;
    }
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}

/** A key in quotes; one with escapes that JSON does not have is left as it is. */
function unquote(quoted: string): string {
  if (quoted.startsWith("'")) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}
