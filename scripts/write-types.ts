import { Type } from 'typebox';
import { Value } from 'typebox/value';

/** The forms of JSON Schema that the document uses, in the order in which they are tried. */
const Forms = {
  constant: Type.Object({ const: Type.Unknown() }),
  values: Type.Object({ enum: Type.Array(Type.Unknown()) }),
  any: Type.Object({ anyOf: Type.Array(Type.Unknown()) }),
  all: Type.Object({ allOf: Type.Array(Type.Unknown()) }),
  object: Type.Object({
    properties: Type.Record(Type.String(), Type.Unknown()),
    required: Type.Optional(Type.Array(Type.String())),
  }),
  map: Type.Object({ additionalProperties: Type.Object({}) }),
  tuple: Type.Object({ type: Type.Literal('array'), prefixItems: Type.Array(Type.Unknown()) }),
  array: Type.Object({ type: Type.Literal('array'), items: Type.Unknown() }),
  plain: Type.Object({ type: Type.Enum(['string', 'boolean', 'null', 'integer', 'number']) }),
};
const PLAIN = {
  string: 'string',
  boolean: 'boolean',
  null: 'null',
  integer: 'number',
  number: 'number',
} as const;
/** Objects of fewer members are written where they are used. */
const NAMED_FROM = 3;

export interface TypeWriter {
  /** The TypeScript type of a JSON Schema. `name` is what an object of several members is called. */
  write(schema: unknown, name: string): string;
  /** The named types so far. */
  declarations(): string[];
}

/** Writes types; equal objects get one name. What the forms do not cover is `unknown`. */
export function createTypeWriter(): TypeWriter {
  const nameOf = new Map<string, string>();
  // A name of TypeScript itself.
  const taken = new Map([['Record', 1]]);

  function write(schema: unknown, name: string): string {
    if (Value.Check(Forms.constant, schema)) return JSON.stringify(schema.const);
    if (Value.Check(Forms.values, schema)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
    if (Value.Check(Forms.any, schema)) return union(schema.anyOf.map((one) => write(one, name)));
    if (Value.Check(Forms.all, schema)) return schema.allOf.map((one) => `(${write(one, name)})`).join(' & ');
    if (Value.Check(Forms.object, schema)) return writeObject(schema, name);
    if (Value.Check(Forms.map, schema))
      return `{ [name: string]: ${write(schema.additionalProperties, singular(name))} }`;
    if (Value.Check(Forms.tuple, schema))
      return `[${schema.prefixItems.map((one) => write(one, name)).join(', ')}]`;
    if (Value.Check(Forms.array, schema)) return `(${write(schema.items, singular(name))})[]`;
    if (Value.Check(Forms.plain, schema)) return PLAIN[schema.type];
    return 'unknown';
  }

  function writeObject(
    { properties, required = [] }: { properties: Record<string, unknown>; required?: string[] },
    name: string,
  ): string {
    const members = Object.entries(properties).map(
      ([key, value]) => `${JSON.stringify(key)}${required.includes(key) ? '' : '?'}: ${write(value, key)}`,
    );
    if (members.length === 0) return '{ [name: string]: unknown }';
    const text = `{ ${members.join('; ')} }`;
    return members.length < NAMED_FROM ? text : named(text, name);
  }

  function named(text: string, name: string): string {
    const known = nameOf.get(text);
    if (known !== undefined) return known;
    const base = pascal(name);
    const count = (taken.get(base) ?? 0) + 1;
    taken.set(base, count);
    const made = count === 1 ? base : `${base}${count}`;
    nameOf.set(text, made);
    return made;
  }

  return {
    write,
    declarations: () => [...nameOf].map(([text, name]) => `interface ${name} ${text}\n`),
  };
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

function singular(name: string): string {
  return name.replace(/ies$/, 'y').replace(/(?<!s)s$/, '');
}

function pascal(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join('');
}
