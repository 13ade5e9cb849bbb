import { parseExpression, Unsupported } from './expression.ts';
import { ANY, accepts, build, literal, MAX_STATES, type Node, repeat } from './machine.ts';

/** Matches one component of a URL; a text where the pattern has nothing but text. */
export type Component = { readonly kind: 'any' } | { readonly kind: 'text'; readonly text: string } | Walked;

interface Walked {
  readonly kind: 'walked';
  readonly accepts: (text: string) => boolean;
}

/** How the names of a component split it: `:name` stops at the delimiter and takes the prefix before it along. */
export interface Splitting {
  readonly delimiter: '' | '.' | '/';
  readonly prefix: '' | '/';
}

export function componentMatches(component: Component, text: string): boolean {
  switch (component.kind) {
    case 'any':
      return true;
    case 'text':
      return component.text === text;
    case 'walked':
      return component.accepts(text);
  }
}

/**
 * Reads a component of a URL pattern as the URL Pattern standard parses a pattern string. It has to come from a
 * `URLPattern`, which has judged and encoded it. Throws `Unsupported` for an expression that cannot be matched in
 * linear time.
 */
export function readComponent(pattern: string, splitting: Splitting): Component {
  if (pattern === '*') return { kind: 'any' };
  const parts = new PartReader(pattern, splitting).parts();
  if (parts.every((part) => typeof part === 'string')) return { kind: 'text', text: parts.join('') };
  const nodes = parts.map((part) => (typeof part === 'string' ? literal(part) : part));
  const machine = build({ kind: 'sequence', nodes });
  if (machine === null)
    throw new Unsupported(`needs more than ${MAX_STATES} states; write shorter repetitions`);
  return { kind: 'walked', accepts: (text) => accepts(machine, text) };
}

type Part = string | Node;
const NAME_START = /[\p{ID_Start}$_]/u;
const NAME_PART = /[\p{ID_Continue}$\u200c\u200d]/u;
const FULL_WILDCARD = repeat(ANY, 0, null);

class PartReader {
  readonly #pattern: string;
  readonly #splitting: Splitting;
  readonly #segment: Node;
  #at = 0;

  constructor(pattern: string, splitting: Splitting) {
    this.#pattern = pattern;
    this.#splitting = splitting;
    const unit = splitting.delimiter.charCodeAt(0);
    const ranges: [number, number][] = splitting.delimiter === '' ? [] : [[unit, unit]];
    this.#segment = repeat({ kind: 'set', set: { isExcept: true, ranges } }, 1, null);
  }

  parts(): Part[] {
    const parts: Part[] = [];
    while (this.#at < this.#pattern.length) {
      const before = this.#at;
      const text = this.#text();
      if (text?.isEscaped) {
        parts.push(text.text);
        continue;
      }
      const value = this.#value();
      if (value !== null) {
        const isPrefix = text !== null && text.text === this.#splitting.prefix;
        if (text !== null && !isPrefix) parts.push(text.text);
        parts.push(withModifier(value, { prefix: isPrefix ? text.text : '', suffix: '' }, this.#modifier()));
      } else if (text !== null) {
        parts.push(text.text);
      } else {
        parts.push(this.#braces());
      }
      if (this.#at === before) throw new Unsupported('has a character that is not understood here');
    }
    return parts;
  }

  /** One character of text, escaped or not. */
  #text(): { text: string; isEscaped: boolean } | null {
    const c = this.#pattern.charAt(this.#at);
    if (c === '\\') {
      this.#at += 2;
      return { text: this.#pattern.charAt(this.#at - 1), isEscaped: true };
    }
    if (c === '' || '*+?{}(:'.includes(c)) return null;
    this.#at += 1;
    return { text: c, isEscaped: false };
  }

  /** `:name`, `:name(expression)`, `(expression)` or `*`. */
  #value(): Node | null {
    const isNamed = this.#name();
    const c = this.#pattern.charAt(this.#at);
    if (c === '(') return this.#expression();
    if (isNamed) return this.#segment;
    if (c !== '*') return null;
    this.#at += 1;
    return FULL_WILDCARD;
  }

  #name(): boolean {
    if (this.#pattern.charAt(this.#at) !== ':') return false;
    let end = this.#at + 1;
    while (end < this.#pattern.length) {
      const c = String.fromCodePoint(this.#pattern.codePointAt(end) ?? 0);
      if (!(end === this.#at + 1 ? NAME_START : NAME_PART).test(c)) break;
      end += c.length;
    }
    if (end === this.#at + 1) throw new Unsupported('has a ":" without a name');
    this.#at = end;
    return true;
  }

  #expression(): Node {
    const start = this.#at + 1;
    let depth = 0;
    for (let i = this.#at; i < this.#pattern.length; i++) {
      const c = this.#pattern[i];
      if (c === '\\') i += 1;
      else if (c === '(') depth += 1;
      else if (c === ')' && --depth === 0) {
        this.#at = i + 1;
        const source = this.#pattern.slice(start, i);
        return source === '.*' ? FULL_WILDCARD : parseExpression(source);
      }
    }
    throw new Unsupported('has a "(" without its ")"');
  }

  #braces(): Part {
    if (this.#pattern.charAt(this.#at) !== '{')
      throw new Unsupported('has a modifier that belongs to nothing');
    this.#at += 1;
    const prefix = this.#run();
    const value = this.#value();
    const suffix = this.#run();
    if (this.#pattern.charAt(this.#at) !== '}') throw new Unsupported('has a "{" without its "}"');
    this.#at += 1;
    const modifier = this.#modifier();
    if (value !== null) return withModifier(value, { prefix, suffix }, modifier);
    return modifier === '' ? prefix + suffix : withModifier(literal(prefix + suffix), NOTHING, modifier);
  }

  #run(): string {
    let run = '';
    for (let text = this.#text(); text !== null; text = this.#text()) run += text.text;
    return run;
  }

  #modifier(): string {
    const c = this.#pattern.charAt(this.#at);
    if (c === '' || !'?+*'.includes(c)) return '';
    this.#at += 1;
    return c;
  }
}

interface Around {
  readonly prefix: string;
  readonly suffix: string;
}

const NOTHING: Around = { prefix: '', suffix: '' };

/** What stands around a value stands once around each repetition of it: `{/:part}+` is `/a`, `/a/b`, … */
function withModifier(value: Node, { prefix, suffix }: Around, modifier: string): Node {
  const once: Node = { kind: 'sequence', nodes: [literal(prefix), value, literal(suffix)] };
  switch (modifier) {
    case '?':
      return repeat(once, 0, 1);
    case '+':
      return repeat(once, 1, null);
    case '*':
      return repeat(once, 0, null);
    default:
      return once;
  }
}
