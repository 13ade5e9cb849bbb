import { stringify } from 'csv-stringify/sync';
import { type TSchema, Type } from 'typebox';

/** Most rows of one CSV. */
export const CSV_ROWS_MAX = 100_000;

/** The members that lead to a value of an item. Its name is these, with dots between them. */
export type Column = readonly string[];

export interface CsvList {
  readonly columns: readonly Column[];
  /** Whether the list has pages. */
  readonly isPaged: boolean;
}

interface ListSchema {
  readonly querystring?: TSchema | undefined;
  readonly response?: Readonly<Record<number, TSchema>>;
}

/** The columns of a list, from the schema of its answer; null where the answer is no list. */
export function csvList({ querystring, response }: ListSchema): CsvList | null {
  const answer = response?.[200];
  if (!Type.IsObject(answer)) return null;
  const { items } = answer.properties;
  if (!Type.IsArray(items) || !Type.IsObject(items.items)) return null;
  const isPaged = Type.IsObject(querystring) && 'cursor' in querystring.properties;
  return { columns: columnsOf(items.items), isPaged };
}

export function csvHeader(columns: readonly Column[]): string {
  return csvLines([columns.map((column) => column.join('.'))]);
}

/** The items as lines (RFC 4180), each with its line break. */
export function csvRows(columns: readonly Column[], items: readonly unknown[]): string {
  return csvLines(items.map((item) => columns.map((column) => cellOf(valueAt(item, column)))));
}

/** The last line of a file that does not have every row. It is as wide as the others. */
export function csvEnd(
  columns: readonly Column[],
  { rows, cursor }: { rows: number; cursor: string },
): string {
  const text = `# cut after ${rows} rows: the list goes on with cursor=${cursor}`;
  return csvLines([columns.map((_, i) => (i === 0 ? text : ''))]);
}

export const CSV_MEDIA_TYPE = 'text/csv';

/** Whether a client prefers CSV to JSON (RFC 9110, 12.5.1). Without a preference the answer is JSON. */
export function prefersCsv(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = accept.split(',').map(readRange);
  return qualityOf(CSV_MEDIA_TYPE, ranges) > qualityOf('application/json', ranges);
}

/** An object is a column for each of its members; everything else is one column. */
function columnsOf(schema: TSchema): readonly Column[] {
  const object = objectOf(schema);
  if (object === null) return [[]];
  return Object.entries(object.properties).flatMap(([name, member]) =>
    columnsOf(member).map((column) => [name, ...column]),
  );
}

/** The object, also where null is allowed in its place. */
function objectOf(schema: TSchema) {
  if (Type.IsObject(schema)) return Object.keys(schema.properties).length > 0 ? schema : null;
  if (!Type.IsUnion(schema)) return null;
  const [only, ...others] = schema.anyOf.filter((one) => !Type.IsNull(one));
  return only !== undefined && others.length === 0 && Type.IsObject(only) ? only : null;
}

function valueAt(item: unknown, column: Column): unknown {
  let value = item;
  for (const name of column) {
    if (value === null || typeof value !== 'object') return null;
    value = new Map<string, unknown>(Object.entries(value)).get(name);
  }
  return value;
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return inert(value);
  return typeof value === 'object' ? inert(JSON.stringify(value)) : String(value);
}

/**
 * Hosts write some of these texts, and a spreadsheet runs a cell that begins like a formula. OWASP, CSV injection: also
 * the wide forms, and what follows a separator that a spreadsheet of another language would use.
 */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/;
const FORMULA_INSIDE = /[;\t\r\n]"*(?=[=+\-@＝＋－＠])/g;
/** Quoted beside what RFC 4180 wants: the library leaves a line feed alone where lines end with CRLF. */
const QUOTED = /[\r\n\t;]/;

function inert(text: string): string {
  const safe = text.replace(FORMULA_INSIDE, "$&'");
  return FORMULA.test(safe) ? `'${safe}` : safe;
}

function csvLines(rows: readonly (readonly string[])[]): string {
  return stringify([...rows], { record_delimiter: '\r\n', quoted_match: QUOTED });
}

interface Range {
  readonly type: string;
  readonly quality: number;
}

function readRange(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((one) => one.startsWith('q='));
  return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 };
}

/** The most specific range decides. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  const wider = [type, `${type.split('/', 1)[0]}/*`, '*/*'];
  const found = wider.map((one) => ranges.find((range) => range.type === one));
  return found.find((one) => one !== undefined)?.quality ?? 0;
}
