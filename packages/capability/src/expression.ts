import type { CharSet, Node } from './machine.ts';

/** Deepest nesting of groups in an expression. */
const MAX_GROUPS = 32;
/** Largest bound of a repetition. */
const MAX_BOUND = 1_000;
const MAX_UNIT = 0xffff;
const DIGITS: CharSet['ranges'] = [[0x30, 0x39]];
const WORD: CharSet['ranges'] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
const SPACE: CharSet['ranges'] = [
  ...([
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
  ] as const),
  ...([
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ] as const),
];
const LINE_ENDS: CharSet['ranges'] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];
const CONTROLS: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d, 0: 0 };
const FAMILIES: Readonly<Record<string, CharSet['ranges']>> = { d: DIGITS, w: WORD, s: SPACE };

/** An expression that is no part of what can be matched in linear time, or that is not written here. */
export class Unsupported extends Error {}

/**
 * Reads the expression of a group of a URL pattern: characters, `.`, classes, `\d \w \s`, groups, `|` and
 * repetitions. What looks around or back (`(?=`, `(?<!`, `\1`) throws `Unsupported`, as do `\b`, `\p` and sets in
 * classes. It has to be an expression that JavaScript compiles with the flag `v`.
 */
export function parseExpression(source: string): Node {
  const reader = new ExpressionReader(source);
  return reader.whole();
}

class ExpressionReader {
  readonly #source: string;
  #at = 0;
  #groups = 0;

  constructor(source: string) {
    this.#source = source;
  }

  whole(): Node {
    const node = this.#choice();
    if (this.#at < this.#source.length) throw new Unsupported('has a ")" without its "("');
    return node;
  }

  #choice(): Node {
    const nodes = [this.#sequence()];
    while (this.#take('|')) nodes.push(this.#sequence());
    const [only] = nodes;
    return nodes.length === 1 && only !== undefined ? only : { kind: 'choice', nodes };
  }

  #sequence(): Node {
    const nodes: Node[] = [];
    for (let c = this.#peek(); c !== '' && c !== '|' && c !== ')'; c = this.#peek()) {
      nodes.push(this.#repeated(this.#atom()));
    }
    return { kind: 'sequence', nodes };
  }

  #atom(): Node {
    const c = this.#next();
    switch (c) {
      case '.':
        return setOf(LINE_ENDS, true);
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '(':
        return this.#group();
      case '[':
        return this.#class();
      case '\\':
        return { kind: 'set', set: this.#escape() };
      default:
        return setOf([[c.charCodeAt(0), c.charCodeAt(0)]]);
    }
  }

  #group(): Node {
    if (this.#take('?') && !this.#take(':')) {
      const isNamed = this.#take('<') && this.#peek() !== '=' && this.#peek() !== '!';
      if (!isNamed)
        throw new Unsupported('looks ahead or behind, or changes flags: "(?" is read as "(?:" alone');
      while (this.#next() !== '>');
    }
    this.#groups += 1;
    if (this.#groups > MAX_GROUPS) throw new Unsupported(`nests groups deeper than ${MAX_GROUPS}`);
    const node = this.#choice();
    if (!this.#take(')')) throw new Unsupported('has a "(" without its ")"');
    this.#groups -= 1;
    return node;
  }

  #repeated(node: Node): Node {
    const bounds = this.#bounds();
    if (bounds === null) return node;
    this.#take('?');
    return { kind: 'repeat', node, ...bounds };
  }

  #bounds(): { min: number; max: number | null } | null {
    if (this.#take('*')) return { min: 0, max: null };
    if (this.#take('+')) return { min: 1, max: null };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (!this.#take('{')) return null;
    const min = this.#count();
    const max = this.#take(',') ? (this.#peek() === '}' ? null : this.#count()) : min;
    if (!this.#take('}')) throw new Unsupported('has a "{" that begins no repetition');
    return { min, max };
  }

  #count(): number {
    let digits = '';
    while (this.#peek() >= '0' && this.#peek() <= '9') digits += this.#next();
    const count = Number(digits);
    if (digits !== '' && count <= MAX_BOUND) return count;
    throw new Unsupported(
      digits === '' ? 'has a "{" that begins no repetition' : `repeats more than ${MAX_BOUND} times`,
    );
  }

  #class(): Node {
    const isExcept = this.#take('^');
    const ranges: (readonly [number, number])[] = [];
    while (!this.#take(']')) {
      const low = this.#classItem();
      if (this.#peek() !== '-') {
        ranges.push(...rangesOf(low));
        continue;
      }
      this.#next();
      ranges.push([singleOf(low), singleOf(this.#classItem())]);
    }
    return setOf(ranges, isExcept);
  }

  #classItem(): CharSet {
    const c = this.#next();
    if (c === '\\') return this.#escape();
    if (c === '[') throw new Unsupported('has a class in a class');
    if (c === this.#peek() && '&-'.includes(c)) throw new Unsupported(`has "${c}${c}" in a class`);
    return { isExcept: false, ranges: [[c.charCodeAt(0), c.charCodeAt(0)]] };
  }

  #escape(): CharSet {
    const c = this.#next();
    const family = FAMILIES[c.toLowerCase()];
    if (family !== undefined) return { isExcept: c !== c.toLowerCase(), ranges: family };
    const control = CONTROLS[c];
    const unit = control ?? (c === 'x' || c === 'u' ? this.#hex(c === 'x' ? 2 : 4) : c.charCodeAt(0));
    const isLetter = /^[0-9A-Za-z]$/.test(c);
    if (isLetter && control === undefined && c !== 'x' && c !== 'u')
      throw new Unsupported(`has "\\${c}"; of the escapes of letters \\d, \\w, \\s and characters are read`);
    return { isExcept: false, ranges: [[unit, unit]] };
  }

  #hex(length: number): number {
    const digits = this.#take('{') ? this.#upTo('}') : this.#exactly(length);
    const unit = /^[0-9A-Fa-f]{1,6}$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN;
    if (unit <= MAX_UNIT) return unit;
    throw new Unsupported('has an escape of a character that a URL does not hold');
  }

  #exactly(length: number): string {
    this.#at += length;
    return this.#source.slice(this.#at - length, this.#at);
  }

  #upTo(end: string): string {
    let text = '';
    for (let c = this.#next(); c !== end; c = this.#next()) text += c;
    return text;
  }

  #peek(): string {
    return this.#source.charAt(this.#at);
  }

  #next(): string {
    if (this.#at >= this.#source.length) throw new Unsupported('ends too early');
    return this.#source.charAt(this.#at++);
  }

  #take(c: string): boolean {
    if (this.#peek() !== c) return false;
    this.#at += 1;
    return true;
  }
}

function setOf(ranges: CharSet['ranges'], isExcept = false): Node {
  return { kind: 'set', set: { isExcept, ranges } };
}

/** The ranges of an item of a class; `[\D]` is every range beside those of `\d`. */
function rangesOf({ isExcept, ranges }: CharSet): CharSet['ranges'] {
  if (!isExcept) return ranges;
  const beside: [number, number][] = [];
  let start = 0;
  for (const [low, high] of ranges) {
    if (start < low) beside.push([start, low - 1]);
    start = high + 1;
  }
  return start <= MAX_UNIT ? [...beside, [start, MAX_UNIT]] : beside;
}

function singleOf({ isExcept, ranges }: CharSet): number {
  const [range] = ranges;
  if (ranges.length === 1 && !isExcept && range !== undefined && range[0] === range[1]) return range[0];
  throw new Unsupported('has a range in a class that does not go from character to character');
}
