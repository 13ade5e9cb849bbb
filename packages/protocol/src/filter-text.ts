import type { Static, TObject } from 'typebox';
import { Value } from 'typebox/value';
import { HostFilter } from './agents-api.ts';
import { FILTER_KEYS, HOST_FILTER_KEYS } from './filter-keys.ts';
import { UpdateFilter } from './updates-api.ts';

export type ParsedFilter<F> =
  | { readonly ok: true; readonly filter: F }
  | { readonly ok: false; readonly errors: readonly FilterTextError[] };

/** An error in one word of the text; `at` and `length` locate it in UTF-16 units. */
export interface FilterTextError {
  readonly at: number;
  readonly length: number;
  readonly message: string;
}

/** Longest text that is read. */
export const FILTER_TEXT_MAX_CHARS = 2_000;

/** The text of the filters of one list. */
export interface FilterLanguage<F> {
  /**
   * Reads a filter as people write it: `state:pending ecosystem:apt host:web-*`. Words are divided by spaces; a
   * value with spaces or quotes stands in double quotes, in which `\` goes before `"` and `\`. Words without a key
   * are one search, `q`. Never throws; every error says what is allowed.
   */
  parse(text: string): ParsedFilter<F>;
  /** The text of a filter from a URL or from parsed text; `parse` reads the same filter from it. */
  format(filter: FilterValues): string;
}

/** A filter from a URL or from parsed text. */
export type FilterValues = Readonly<Record<string, string | boolean | undefined>>;

/** What a filter is made of. */
interface Grammar<T extends TObject> {
  readonly schema: T;
  /** The keys of its members, in output order. */
  readonly keys: Readonly<Record<string, string>>;
  /** Members that are true or false; those of queries are texts in their schemas. */
  readonly flags: ReadonlySet<string>;
  /** A member that says something only with another one. */
  readonly needs: Readonly<Record<string, string>>;
}

const FLAGS: ReadonlySet<string> = new Set([
  'open',
  'blocked',
  'security',
  'exploited',
  'introduces',
  'stays',
  'fixes',
  'fixes_exploited',
]);

/** The filters of updates: words without a key are a part of the package name. */
export const UPDATE_FILTERS = languageOf({
  schema: UpdateFilter,
  keys: FILTER_KEYS,
  flags: FLAGS,
  needs: {},
});

/** The filters of hosts: words without a key are a part of the name; `package:openssl below:3.0.14-1 group:web`. */
export const HOST_FILTERS = languageOf({
  ...{ schema: HostFilter, keys: HOST_FILTER_KEYS, flags: new Set<string>() },
  needs: { below: 'package' },
});

function languageOf<T extends TObject>(grammar: Grammar<T>): FilterLanguage<Static<T>> {
  const { schema, keys, needs } = grammar;
  const members = Object.keys(keys).filter((member) => member in schema.properties);
  return {
    parse: (text) => {
      if (text.length > FILTER_TEXT_MAX_CHARS) {
        const message = `is longer than ${FILTER_TEXT_MAX_CHARS} characters`;
        return { ok: false, errors: [{ at: 0, length: text.length, message }] };
      }
      const errors: FilterTextError[] = [];
      const given: Record<string, unknown> = {};
      const searched: Word[] = [];
      for (const word of wordsOf(text)) {
        const wrong = (message: string) => errors.push({ at: word.at, length: word.length, message });
        if (!word.isClosed) wrong('the quotation mark is not closed');
        else if (word.key === null) searched.push(word);
        else takeWord(word, { grammar, members, given, wrong });
      }
      const [first] = searched;
      const last = searched.at(-1);
      if (first && last) {
        const word = { ...first, key: 'q', value: searched.map(({ value }) => value).join(' ') };
        const length = last.at + last.length - first.at;
        const wrong = (message: string) => errors.push({ at: first.at, length, message });
        takeWord(word, { grammar, members, given, wrong });
      }
      for (const [member, other] of Object.entries(needs)) {
        if (member in given && !(other in given))
          errors.push({ at: 0, length: text.length, message: `${keys[member]} needs ${keys[other]}` });
      }
      if (errors.length > 0) return { ok: false, errors: errors.toSorted((a, b) => a.at - b.at) };
      return { ok: true, filter: Value.Parse(schema, given) };
    },
    format: (filter) =>
      members
        .flatMap((member) => {
          const value = filter[member];
          return value === undefined ? [] : `${keys[member]}:${quoted(String(value))}`;
        })
        .join(' '),
  };
}

interface Word {
  readonly at: number;
  readonly length: number;
  /** The text before the first unquoted colon; null when there is none. */
  readonly key: string | null;
  readonly value: string;
  readonly isClosed: boolean;
}

function takeWord<T extends TObject>(
  { key, value }: Word,
  {
    grammar,
    members,
    given,
    wrong,
  }: {
    grammar: Grammar<T>;
    members: readonly string[];
    given: Record<string, unknown>;
    wrong: (message: string) => void;
  },
): void {
  const { keys, flags } = grammar;
  const member = members.find((one) => keys[one] === key?.toLowerCase());
  if (member === undefined)
    wrong(`there is no ${key}: what can be filtered by is ${Object.values(keys).join(', ')}`);
  else if (member in given) wrong(`${key} is given twice; one value is allowed`);
  else {
    const fault = faultOf(member, value, grammar);
    if (fault !== null) wrong(fault);
    given[member] = flags.has(member) ? value === 'true' : value;
  }
}

/** The allowed values when a value is invalid; null when it is valid. */
function faultOf<T extends TObject>(
  member: string,
  value: string,
  { schema: of, keys, flags }: Grammar<T>,
): string | null {
  const key = keys[member];
  const schema: unknown = Reflect.get(of.properties, member);
  const isFlag = flags.has(member);
  const checked: unknown = isFlag && (value === 'true' || value === 'false') ? value === 'true' : value;
  if (Value.Check(of, { [member]: checked })) return null;
  const allowed = isFlag ? ['true', 'false'] : choicesOf(schema);
  if (allowed.length > 0) return `${key} is one of ${allowed.join(', ')}`;
  return `${key} is ${descriptionOf(schema)}`;
}

function choicesOf(schema: unknown): string[] {
  if (schema === null || typeof schema !== 'object') return [];
  if ('enum' in schema && Array.isArray(schema.enum)) return schema.enum.map(String);
  if (!('anyOf' in schema) || !Array.isArray(schema.anyOf)) return [];
  return schema.anyOf.flatMap((one: unknown) =>
    one !== null && typeof one === 'object' && 'const' in one ? [String(one.const)] : [],
  );
}

function descriptionOf(schema: unknown): string {
  if (schema === null || typeof schema !== 'object') return 'something else';
  const said =
    'description' in schema && typeof schema.description === 'string' ? schema.description : 'text';
  const longest = 'maxLength' in schema ? `, at most ${schema.maxLength} characters` : '';
  return `${said}${longest}`;
}

function quoted(value: string): string {
  return /^[^\s"\\:]+$/u.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}

const SPACE = /\s/u;

function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  let at = 0;
  while (at < text.length) {
    if (SPACE.test(text.charAt(at))) at++;
    else {
      const word = readWord(text, at);
      words.push(word);
      at += word.length;
    }
  }
  return words;
}

function readWord(text: string, at: number): Word {
  let key: string | null = null;
  let value = '';
  let isQuoted = false;
  let wasQuoted = false;
  let next = at;
  for (; next < text.length; next++) {
    const character = text.charAt(next);
    if (isQuoted && character === '\\') value += text.charAt(++next);
    else if (character === '"') {
      isQuoted = !isQuoted;
      wasQuoted = true;
    } else if (!isQuoted && SPACE.test(character)) break;
    else if (!isQuoted && !wasQuoted && character === ':' && key === null) {
      key = value;
      value = '';
    } else value += character;
  }
  return { at, length: Math.min(next, text.length) - at, key, value, isClosed: !isQuoted };
}
