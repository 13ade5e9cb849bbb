import { canonicalJson } from '@tidegate/protocol/canonical-json';

/** Schemas that tables refer to by name. Equal schemas share one name: the first. */
export type SchemaNames = ReadonlyMap<string, string>;

export type Members = Readonly<Record<string, unknown>>;

export function namesOf(schemas: Readonly<Record<string, unknown>>): SchemaNames {
  const names = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    const form = formOf(schema);
    if (!names.has(form)) names.set(form, name);
  }
  return names;
}

/** The table rows of an object: member, whether it is required, type and limits. */
export function rowsOf(schema: unknown, names: SchemaNames): string[][] {
  if (!isMembers(schema)) return [];
  const { anyOf } = schema;
  return Array.isArray(anyOf) ? anyOf.flatMap((one) => rowsOf(one, names)) : memberRows(schema, '', names);
}

/** The name of a schema, or a description of its type. */
export function typeOf(schema: unknown, names: SchemaNames): string {
  const name = names.get(formOf(schema));
  if (name !== undefined) return name;
  if (!isMembers(schema)) throw new Error('not a schema');
  const { type, const: constant, enum: values, anyOf } = schema;
  if (constant !== undefined) return `always ${JSON.stringify(constant)}`;
  if (Array.isArray(values)) return `one of ${values.join(', ')}`;
  if (Array.isArray(anyOf)) return choiceOf(anyOf, names);
  if (type === 'array') return `array of ${typeOf(schema.items, names)}`;
  if (type === 'object' && !isMembers(schema.properties)) return 'object of any members';
  return type === undefined ? 'any JSON' : String(type);
}

/** The limits that the type does not express; empty for a named schema. */
export function limitsOf(schema: unknown, names: SchemaNames): string {
  if (!isMembers(schema) || names.has(formOf(schema))) return '';
  const { anyOf } = schema;
  if (Array.isArray(anyOf)) {
    return anyOf
      .map((one) => limitsOf(one, names))
      .filter((text) => text !== '')
      .join('; ');
  }
  return [
    rangeOf(schema.minLength, schema.maxLength, 'characters'),
    rangeOf(schema.minimum, schema.maximum, ''),
    rangeOf(schema.minItems, schema.maxItems, 'items'),
    schema.uniqueItems === true ? 'no two equal' : '',
    schema.type === 'array' ? eachOf(limitsOf(schema.items, names)) : '',
    typeof schema.pattern === 'string' ? `pattern ${schema.pattern}` : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

function choiceOf(choices: readonly unknown[], names: SchemaNames): string {
  const constants = choices.flatMap((one) => (isMembers(one) && one.const !== undefined ? [one.const] : []));
  if (constants.length === choices.length) return `one of ${constants.join(', ')}`;
  return choices.map((one) => typeOf(one, names)).join(' or ');
}

function memberRows(schema: Members, path: string, names: SchemaNames): string[][] {
  const { properties, required } = schema;
  if (!isMembers(properties)) return [];
  return Object.entries(properties).flatMap(([name, member]) => {
    const isRequired = Array.isArray(required) && required.includes(name);
    const row = [path + name, isRequired ? 'yes' : 'no', typeOf(member, names), limitsOf(member, names)];
    return [row, ...innerRows(member, path + name, names)];
  });
}

/** The members of an unnamed object, also inside a list or when it may be null. */
function innerRows(schema: unknown, path: string, names: SchemaNames): string[][] {
  if (!isMembers(schema) || names.has(formOf(schema))) return [];
  if (schema.type === 'array') return innerRows(schema.items, `${path}[]`, names);
  const { anyOf } = schema;
  if (Array.isArray(anyOf)) return anyOf.flatMap((one) => innerRows(one, path, names));
  return memberRows(schema, `${path}.`, names);
}

function rangeOf(least: unknown, most: unknown, unit: string): string {
  const text = [least, most].map((bound) => (bound === undefined ? null : String(bound)));
  const [from, to] = text;
  const words = unit === '' ? '' : ` ${unit}`;
  if (from && to) return from === to ? `${to}${words}` : `${from} to ${to}${words}`;
  if (from) return `at least ${from}${from === '1' ? words.replace(/s$/, '') : words}`;
  return to ? `at most ${to}${words}` : '';
}

function eachOf(limits: string): string {
  return limits === '' ? '' : `each ${limits}`;
}

function formOf(schema: unknown): string {
  // Converted through JSON to drop TypeBox's own properties, which are not part of the schema.
  const plain: unknown = JSON.parse(JSON.stringify(schema), asOpenApiHasIt);
  return canonicalJson(plain);
}

/** Two keywords have another name in the OpenAPI document; both spellings mean the same schema. */
function asOpenApiHasIt(_key: string, value: unknown): unknown {
  if (!isMembers(value)) return value;
  const { const: constant, patternProperties, ...rest } = value;
  return {
    ...rest,
    ...(constant === undefined ? {} : { enum: [constant] }),
    ...(isMembers(patternProperties) ? { additionalProperties: Object.values(patternProperties)[0] } : {}),
  };
}

export function isMembers(value: unknown): value is Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** The number of objects in a schema that allow unknown members, not counting objects without any named member. */
export function openObjectsIn(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce((sum: number, one) => sum + openObjectsIn(one), 0);
  if (!isMembers(schema)) return 0;
  const isOpen = isMembers(schema.properties) && schema.additionalProperties !== false;
  return (isOpen ? 1 : 0) + openObjectsIn(Object.values(schema));
}
