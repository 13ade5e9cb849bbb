import { Value } from 'typebox/value';
import { FILTER_KEYS } from './filter-keys.ts';
import { UpdateFilter } from './updates-api.ts';

export type ParsedFilter =
  | { readonly ok: true; readonly filter: UpdateFilter }
  | { readonly ok: false; readonly errors: readonly FilterTextError[] };

/** An error in one word of the text; `at` and `length` locate it in UTF-16 units. */
export interface FilterTextError {
  readonly at: number;
  readonly length: number;
  readonly message: string;
}

/** Longest text that is read. */
export const FILTER_TEXT_MAX_CHARS = 2_000;

/** Members of a filter by the keys of its text. Words without a key are `q`. */
const MEMBERS = Object.keys(FILTER_KEYS).filter((member) => member in UpdateFilter.properties);
const KEYS = Object.values(FILTER_KEYS);

/**
 * Reads a filter as people write it: `state:pending ecosystem:apt host:web-*`. Words are divided by spaces; a
 * value with spaces or quotes stands in double quotes, in which `\` goes before `"` and `\`. Words without a key
 * are one search for a part of the package name. Never throws; every error says what is allowed.
 */
export function parseFilterText(text: string): ParsedFilter {
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
    else takeWord(word, { given, wrong });
  }
  const [first] = searched;
  const last = searched.at(-1);
  if (first && last) {
    const word = { ...first, key: 'q', value: searched.map(({ value }) => value).join(' ') };
    const length = last.at + last.length - first.at;
    takeWord(word, { given, wrong: (message) => errors.push({ at: first.at, length, message }) });
  }
  if (errors.length > 0) return { ok: false, errors: errors.toSorted((a, b) => a.at - b.at) };
  return { ok: true, filter: Value.Parse(UpdateFilter, given) };
}

/** A filter from a URL or from parsed text. */
export type FilterValues = Readonly<Partial<Record<keyof UpdateFilter, string | boolean>>>;

/** The text of a filter; `parseFilterText` reads the same filter from it. */
export function formatFilterText(filter: FilterValues): string {
  return MEMBERS.flatMap((member) => {
    const value = Reflect.get(filter, member);
    if (value === undefined) return [];
    return `${Reflect.get(FILTER_KEYS, member)}:${quoted(String(value))}`;
  }).join(' ');
}

interface Word {
  readonly at: number;
  readonly length: number;
  /** The text before the first unquoted colon; null when there is none. */
  readonly key: string | null;
  readonly value: string;
  readonly isClosed: boolean;
}

function takeWord(
  { key, value }: Word,
  { given, wrong }: { given: Record<string, unknown>; wrong: (message: string) => void },
): void {
  const member = MEMBERS.find((one) => Reflect.get(FILTER_KEYS, one) === key?.toLowerCase());
  if (member === undefined) wrong(`there is no ${key}: what can be filtered by is ${KEYS.join(', ')}`);
  else if (member in given) wrong(`${key} is given twice; one value is allowed`);
  else {
    const fault = faultOf(member, value);
    if (fault !== null) wrong(fault);
    given[member] = isFlag(member) ? value === 'true' : value;
  }
}

/** The allowed values when a value is invalid; null when it is valid. */
function faultOf(member: string, value: string): string | null {
  const key: unknown = Reflect.get(FILTER_KEYS, member);
  const schema: unknown = Reflect.get(UpdateFilter.properties, member);
  const checked: unknown =
    isFlag(member) && (value === 'true' || value === 'false') ? value === 'true' : value;
  if (Value.Check(UpdateFilter, { [member]: checked })) return null;
  const allowed = isFlag(member) ? ['true', 'false'] : choicesOf(schema);
  if (allowed.length > 0) return `${key} is one of ${allowed.join(', ')}`;
  return `${key} is ${descriptionOf(schema)}`;
}

const FLAGS: ReadonlySet<string> = new Set([
  'security',
  'exploited',
  'introduces',
  'stays',
  'fixes',
  'fixes_exploited',
]);

function isFlag(member: string): boolean {
  return FLAGS.has(member);
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
