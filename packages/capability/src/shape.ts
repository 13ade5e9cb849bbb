import { pointTo, quote, type Report } from './findings.ts';
import { isMembers, kindOf } from './values.ts';

/** A JSON Schema (draft 2020-12) as data. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The path of a value and the report for its errors. */
export interface Place {
  readonly path: string;
  readonly report: Report;
}

/**
 * One description of a value for both the reader and the editors' schema. `read` returns `undefined` exactly when
 * it has reported an error.
 */
export interface Shape<T> {
  readonly schema: JsonSchema;
  readonly read: (value: unknown, at: Place) => T | undefined;
}

/** A text; `fault` says what is wrong with one that has another form than it should, or null. */
export function text(
  fault: (text: string) => string | null = () => null,
  schema: JsonSchema = {},
): Shape<string> {
  return {
    schema: { type: 'string', ...schema },
    read(value, at) {
      if (typeof value !== 'string') return wrongKind(value, 'a string', at);
      const message = fault(value);
      if (message === null) return value;
      at.report.error(at.path, message);
      return undefined;
    },
  };
}

export const flag: Shape<boolean> = {
  schema: { type: 'boolean' },
  read: (value, at) => (typeof value === 'boolean' ? value : wrongKind(value, 'true or false', at)),
};

/** One of a few words; another one is answered with the list of them. */
export function oneOf<Word extends string>(words: readonly Word[], what: string): Shape<Word> {
  return {
    schema: { enum: words },
    read(value, at) {
      const word = words.find((candidate) => candidate === value);
      if (word !== undefined) return word;
      if (typeof value !== 'string') return wrongKind(value, 'a string', at);
      at.report.error(at.path, `${quote(value)} is no ${what}; allowed are ${words.map(quote).join(', ')}`);
      return undefined;
    },
  };
}

export function listOf<T>(item: Shape<T>, what: string): Shape<readonly T[]> {
  return {
    schema: { type: 'array', items: item.schema },
    read(value, at) {
      if (!Array.isArray(value)) return wrongKind(value, `a list of ${what}`, at);
      const items: T[] = [];
      for (let i = 0; i < value.length; i++) {
        const read = item.read(value[i], { path: pointTo(at.path, i), report: at.report });
        if (read !== undefined) items.push(read);
      }
      return items.length === value.length ? Object.freeze(items) : undefined;
    },
  };
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return {
    schema: { anyOf: [shape.schema, { type: 'null' }] },
    read: (value, at) => (value === null ? null : shape.read(value, at)),
  };
}

/** A member of an object, with what stands for it where it is absent; without that it is required. */
export interface Field<T> {
  readonly name: string;
  readonly doc: string;
  readonly shape: Shape<T>;
  readonly absent: { readonly value: T } | null;
}

export function required<T>(name: string, shape: Shape<T>, doc: string): Field<T> {
  return { name, doc, shape, absent: null };
}

export function optional<T>(name: string, shape: Shape<T>, value: T, doc: string): Field<T> {
  return { name, doc, shape, absent: { value } };
}

export function readField<T>(
  field: Field<T>,
  members: Readonly<Record<string, unknown>>,
  at: Place,
): T | undefined {
  if (Object.hasOwn(members, field.name))
    return field.shape.read(members[field.name], { path: `${at.path}/${field.name}`, report: at.report });
  if (field.absent !== null) return field.absent.value;
  at.report.error(at.path, `missing field ${quote(field.name)}`);
  return undefined;
}

/** The members of an object; the report is told of what is no object, and warned of members that are no field. */
export function readMembers(
  value: unknown,
  { what, fields, at }: { what: string; fields: readonly Field<unknown>[]; at: Place },
): Readonly<Record<string, unknown>> | undefined {
  if (!isMembers(value)) return wrongKind(value, what, at);
  for (const name of Object.keys(value)) {
    if (fields.some((field) => field.name === name)) continue;
    const message = name === '$schema' ? 'is for editors and ignored here' : unknownKey(name, fields);
    at.report.warn(pointTo(at.path, name), message);
  }
  return value;
}

export function schemaOfFields(fields: readonly Field<unknown>[]): JsonSchema {
  const properties = fields.map(({ name, doc, shape, absent }) => {
    const given = absent === null || absent.value === undefined ? {} : { default: absent.value };
    return [name, { description: doc, ...shape.schema, ...given }] as const;
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: fields.filter((field) => field.absent === null).map((field) => field.name),
  };
}

function unknownKey(name: string, fields: readonly Field<unknown>[]): string {
  return `${quote(name)} is no key of the format and ignored; its keys are ${fields.map((f) => f.name).join(', ')}`;
}

function wrongKind(value: unknown, expected: string, at: Place): undefined {
  at.report.error(at.path, `expected ${expected}, found ${kindOf(value)}`);
}
