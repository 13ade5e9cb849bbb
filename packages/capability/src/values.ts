import { pointTo, type Report } from './findings.ts';

/** What a scope holds; which form a command understands is the command's own business. */
export type Value =
  | null
  | boolean
  | number
  | string
  | readonly Value[]
  | { readonly [member: string]: Value };

export interface Scope {
  readonly allow: readonly Value[];
  readonly deny: readonly Value[];
}

/** Deepest nesting of lists and maps in a file. */
export const MAX_DEPTH = 64;

export function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** What a value is, for a message. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  if (typeof value === 'object') return isMembers(value) ? 'an object' : 'something that JSON does not have';
  return typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string'
    ? `a ${typeof value}`
    : 'something that JSON does not have';
}

/**
 * A frozen copy of the value; `undefined` when the report was told why there is none. How deep and how large a value may
 * be is the business of who took it in (`readText`, `tooLarge`).
 */
export function readValue(value: unknown, path: string, report: Report): Value | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') {
    if (isExact(value)) return value;
    report.error(path, 'is a number that cannot be kept exactly; write it as a string');
    return undefined;
  }
  if (Array.isArray(value)) {
    const items = value.map((item, i) => readValue(item, pointTo(path, i), report));
    return items.every((item) => item !== undefined) ? Object.freeze(items) : undefined;
  }
  if (isMembers(value)) return readMap(value, path, report);
  report.error(path, `is ${kindOf(value)}; a scope holds null, booleans, numbers, strings, lists and maps`);
  return undefined;
}

function readMap(
  members: Readonly<Record<string, unknown>>,
  path: string,
  report: Report,
): Value | undefined {
  const map: Record<string, Value> = {};
  let isWhole = true;
  for (const [key, member] of Object.entries(members)) {
    const at = pointTo(path, key);
    if (key === '__proto__') report.error(at, 'is not allowed as a key');
    const value = key === '__proto__' ? undefined : readValue(member, at, report);
    if (value === undefined) isWhole = false;
    else map[key] = value;
  }
  return isWhole ? Object.freeze(map) : undefined;
}

/** Past 2^53 two whole numbers of a file can become one, and a scope would match what it does not name. */
function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

/** One text for each value, equal for equal values: maps in the order of their keys. */
export function canonical(value: Value): string {
  if (isList(value)) return `[${value.map(canonical).join()}]`;
  if (isMap(value)) {
    const keys = Object.keys(value).toSorted();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join()}}`;
  }
  return Object.is(value, -0) ? '0' : JSON.stringify(value);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function isMap(value: Value): value is { readonly [member: string]: Value } {
  return value !== null && typeof value === 'object' && !isList(value);
}

/** Lists, maps and their items in one file. */
export const MAX_VALUES = 1_000_000;

/** Why a value that no reader of text has bounded is too large to be read, or null. Cycles end at the depth. */
export function tooLarge(value: unknown): string | null {
  let level: unknown[] = [value];
  let count = 1;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
    const next: unknown[] = [];
    for (const item of level) {
      if (item === null || typeof item !== 'object') continue;
      for (const member of Object.values(item)) {
        count += 1;
        if (count > MAX_VALUES) return `has more than ${MAX_VALUES} values`;
        next.push(member);
      }
    }
    level = next;
  }
  return null;
}
